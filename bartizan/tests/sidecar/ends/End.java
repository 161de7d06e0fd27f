import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.Provider;
import java.security.Security;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/** A TLS 1.3 end of Java: client|server HOST PORT CERTIFICATE KEY ROOTS [GROUPS]; of Bouncy Castle
 * where its jars are on the class path, otherwise of JSSE. */
public class End {
    static byte[] key(String file) throws Exception {
        String body = Files.readString(Path.of(file)).replaceAll("-----.*-----|\\s", "");
        return Base64.getDecoder().decode(body);
    }

    static List<? extends Certificate> chain(CertificateFactory factory, String file) throws Exception {
        byte[] text = Files.readAllBytes(Path.of(file));
        try (InputStream stream = new ByteArrayInputStream(text)) {
            return List.copyOf(factory.generateCertificates(stream));
        }
    }

    static Provider provider(String name) {
        try {
            Provider made = (Provider) Class.forName(name).getDeclaredConstructor().newInstance();
            Security.addProvider(made);
            return made;
        } catch (ReflectiveOperationException absent) {
            return null;
        }
    }

    public static void main(String[] given) throws Exception {
        boolean client = given[0].equals("client");
        Provider keys = provider("org.bouncycastle.jce.provider.BouncyCastleProvider");
        Provider tls = provider("org.bouncycastle.jsse.provider.BouncyCastleJsseProvider");
        if (given[0].equals("version")) {
            System.out.println((tls == null ? Runtime.version().feature() + "."
                    + Runtime.version().interim() + "." + Runtime.version().update()
                    : keys.getVersionStr()));
            return;
        }
        CertificateFactory x509 = keys == null ? CertificateFactory.getInstance("X.509")
                : CertificateFactory.getInstance("X.509", keys);
        List<? extends Certificate> own = chain(x509, given[3]);
        String algorithm = own.get(0).getPublicKey().getAlgorithm();
        KeyFactory reader = keys == null ? KeyFactory.getInstance(algorithm)
                : KeyFactory.getInstance(algorithm, keys);
        char[] none = new char[0];
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, none);
        store.setKeyEntry("own", reader.generatePrivate(new PKCS8EncodedKeySpec(key(given[4]))), none,
                own.toArray(Certificate[]::new));
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null, none);
        for (Certificate root : chain(x509, given[5])) {
            trusted.setCertificateEntry("root-" + trusted.size(), root);
        }
        KeyManagerFactory of = tls == null ? KeyManagerFactory.getInstance("PKIX")
                : KeyManagerFactory.getInstance("PKIX", tls);
        of.init(store, none);
        TrustManagerFactory trust = tls == null ? TrustManagerFactory.getInstance("PKIX")
                : TrustManagerFactory.getInstance("PKIX", tls);
        trust.init(trusted);
        SSLContext context = tls == null ? SSLContext.getInstance("TLSv1.3")
                : SSLContext.getInstance("TLSv1.3", tls);
        context.init(of.getKeyManagers(), trust.getTrustManagers(), null);
        SSLParameters rules = context.getDefaultSSLParameters();
        rules.setProtocols(new String[] {"TLSv1.3"});
        rules.setApplicationProtocols(new String[] {"h2"});
        InetSocketAddress address = new InetSocketAddress(given[1], Integer.parseInt(given[2]));
        if (client) {
            rules.setServerNames(List.of(new SNIHostName("nrf.5gc")));
            SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket();
            socket.connect(address);
            socket.setSSLParameters(rules);
            socket.startHandshake();
            Thread.sleep(600_000);
        }
        rules.setNeedClientAuth(true);
        SSLServerSocket listener = (SSLServerSocket) context.getServerSocketFactory().createServerSocket();
        listener.bind(address);
        listener.setSSLParameters(rules);
        System.out.println("ACCEPT");
        while (true) {
            try {
                SSLSocket socket = (SSLSocket) listener.accept();
                socket.getInputStream().read();
            } catch (java.io.IOException error) {
                System.err.println(error);
            }
        }
    }
}
