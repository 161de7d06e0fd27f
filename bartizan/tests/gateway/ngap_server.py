"""An AMF by pycrate's core, as far as NG Setup: address and port are the arguments. See `scripts/peers pycrate`."""

import builtins
import sys
import types

# 0.8.1 calls it once before it defines it.
builtins.log = lambda message: None


class Nothing:
    def __getattr__(self, name):
        return None


def absent(name, *names):
    """What the core imports for subscribers' keys, which nobody asks for here."""
    module = types.ModuleType(name)
    module.__path__ = []
    for each in names:
        setattr(module, each, Nothing())
    sys.modules[name] = module


absent("CryptoMobile", "CM")
absent("CryptoMobile.Milenage", "Milenage")
absent("CryptoMobile.TUAK", "TUAK")
absent("CryptoMobile.ECIES", "ECIES_HN")
absent("CryptoMobile.utils", "xor_buf", "CMException")
absent("CryptoMobile.conv", "conv_102_C2", "conv_102_C3", "conv_401_A2", "conv_501_A2", "conv_501_A4")
absent("pycomp128", "comp128v1", "comp128v2", "comp128v3")

from pycrate_corenet.Server import CorenetServer  # noqa: E402

address, port = sys.argv[1], int(sys.argv[2])
# The recorded gNB's network.
network = "20893"


class Amf(CorenetServer):
    SERVER_HNB = {}
    SERVER_ENB = {}
    SERVER_GNB = dict(CorenetServer.SERVER_GNB, IP=address, port=port)
    AUCd = GTPUd = SMSd = None
    PLMN = network
    AMF_GUAMI = {network: (0x01, 0x001, 0x00)}
    AMF_PLMNSupp = {network: [(0x01, 0x010203)]}
    RAN_ALLOWED_PLMN = [network]

    def _log(self, kind, message):
        print(kind, message, flush=True)


Amf(threaded=False)
