/* One end of DTLS 1.3 by NSS, for scripts/capture-dtls13.
 * usage: dtls13 serve DATABASE PORT GROUPS    takes one association, echoes one datagram, and ends
 *        dtls13 ask PORT GROUPS               sends one datagram, and prints what comes back
 * GROUPS are NSS's numbers, in order, separated by commas: 4588 (X25519MLKEM768), 29 (x25519), 23 (secp256r1), 24 (secp384r1).
 */
#include <nspr.h>
#include <nss.h>
#include <pk11pub.h>
#include <ssl.h>
#include <sslproto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what) {
    fprintf(stderr, "%s: %d\n", what, PR_GetError());
    exit(1);
}

static SECStatus trust_all(void *arg, PRFileDesc *fd, PRBool check, PRBool server) { return SECSuccess; }

static PRFileDesc *prepare(PRFileDesc *udp, const char *groups) {
    PRFileDesc *fd = DTLS_ImportFD(NULL, udp);
    SSLVersionRange range = { SSL_LIBRARY_VERSION_DTLS_1_3, SSL_LIBRARY_VERSION_DTLS_1_3 };
    SSLNamedGroup chosen[8];
    unsigned count = 0;
    for (const char *at = groups; *at && count < 8; count++) {
        char *end;
        chosen[count] = (SSLNamedGroup)strtoul(at, &end, 10);
        at = *end ? end + 1 : end;
    }
    if (!fd || SSL_VersionRangeSet(fd, &range) != SECSuccess) fail("version");
    if (SSL_NamedGroupConfig(fd, chosen, count) != SECSuccess) fail("groups");
    if (SSL_AuthCertificateHook(fd, trust_all, NULL) != SECSuccess) fail("hook");
    return fd;
}

static int exchange(PRFileDesc *fd, int asks) {
    char data[2000];
    PRIntervalTime wait = PR_SecondsToInterval(1);
    SSL_ForceHandshake(fd);
    for (int tries = 0; tries < 20; tries++) {
        SSLChannelInfo info;
        if (SSL_GetChannelInfo(fd, &info, sizeof info) == SECSuccess && info.protocolVersion) {
            if (asks) PR_Send(fd, "hello", 5, 0, wait);
        }
        PRInt32 got = PR_Recv(fd, data, sizeof data, 0, wait);
        if (got > 0) {
            printf("%.*s version %04x group %u\n", (int)got, data, info.protocolVersion, info.keaGroup);
            if (!asks) PR_Send(fd, data, got, 0, wait);
            return 0;
        }
        if (got < 0 && PR_GetError() != PR_IO_TIMEOUT_ERROR && PR_GetError() != PR_WOULD_BLOCK_ERROR) fail("receive");
        SSL_ForceHandshake(fd);
    }
    return 1;
}

int main(int count, char **words) {
    int serves = count == 5 && !strcmp(words[1], "serve");
    if (!serves && !(count == 4 && !strcmp(words[1], "ask"))) return 64;
    PR_Init(PR_USER_THREAD, PR_PRIORITY_NORMAL, 0);
    if ((serves ? NSS_Init(words[2]) : NSS_NoDB_Init(NULL)) != SECSuccess) fail("NSS");
    NSS_SetDomesticPolicy();
    PRNetAddr address;
    PR_InitializeNetAddr(PR_IpAddrLoopback, (PRUint16)atoi(words[serves ? 3 : 2]), &address);
    PRFileDesc *udp = PR_OpenUDPSocket(PR_AF_INET);
    if (!serves) {
        if (PR_Connect(udp, &address, PR_INTERVAL_NO_TIMEOUT) != PR_SUCCESS) fail("connect");
        PRFileDesc *fd = prepare(udp, words[3]);
        SSL_SetURL(fd, "dtls13.example.test");
        SSL_ResetHandshake(fd, PR_FALSE);
        int result = exchange(fd, 1);
        PR_Close(fd);
        return result;
    }
    if (PR_Bind(udp, &address) != PR_SUCCESS) fail("bind");
    printf("listening\n");
    fflush(stdout);
    /* Who asks: the socket then speaks with that one alone. */
    char first[1];
    PRNetAddr peer;
    if (PR_RecvFrom(udp, first, sizeof first, PR_MSG_PEEK, &peer, PR_INTERVAL_NO_TIMEOUT) < 0 && PR_GetError() != PR_BUFFER_OVERFLOW_ERROR)
        fail("peek");
    if (PR_Connect(udp, &peer, PR_INTERVAL_NO_TIMEOUT) != PR_SUCCESS) fail("connect");
    PRFileDesc *fd = prepare(udp, words[4]);
    CERTCertificate *certificate = PK11_FindCertFromNickname("server", NULL);
    SECKEYPrivateKey *key = certificate ? PK11_FindKeyByAnyCert(certificate, NULL) : NULL;
    if (!key || SSL_ConfigServerCert(fd, certificate, key, NULL, 0) != SECSuccess) fail("certificate");
    SSL_ResetHandshake(fd, PR_TRUE);
    int result = exchange(fd, 0);
    PR_Close(fd);
    return result;
}
