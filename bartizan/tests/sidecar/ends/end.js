// A TLS 1.3 end of Node: client|server HOST PORT CERTIFICATE KEY ROOTS [GROUPS].
const fs = require('fs');
const tls = require('tls');

if (process.argv[2] === 'version') {
  console.log(process.versions.node, process.versions.openssl.split('+')[0]);
  process.exit();
}
const [role, host, port, certificate, key, roots, groups] = process.argv.slice(2);
const rules = {
  host, port, servername: 'nrf.5gc', minVersion: 'TLSv1.3', ALPNProtocols: ['h2'],
  ...(groups ? { ecdhCurve: groups } : {}),
  requestCert: true, rejectUnauthorized: true,
  ca: fs.readFileSync(roots), cert: fs.readFileSync(certificate), key: fs.readFileSync(key),
};
if (role === 'client') {
  tls.connect(rules).resume();
} else {
  const server = tls.createServer(rules, (connection) => connection.resume().on('error', () => {}));
  server.on('tlsClientError', (error) => console.error(error.message));
  server.listen(port, host, () => console.log('ACCEPT'));
}
