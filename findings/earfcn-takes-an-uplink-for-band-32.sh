#!/usr/bin/env bash
# Package: earfcn 0.0.3 (Python 3.11), seen on 2026-11-30.
# Guess: the table has first channels of the downlink and of the uplink, so a channel of the uplink,
#   as a handset or a log of it gives, has its band and its frequency; a frequency of the raster of
#   100 kHz has the channel that has this frequency (TS 36.101, 5.7.3).
# Seen: the column of the uplink is never read. Each channel from 18000 to 35999, the uplink of
#   bands 1 to 31, is one of band 32, "2290 MHz" for 1950 MHz; band 32 ends at 1496 MHz. Those of
#   bands 65 and above are an error. From frequencies, 240 of the 600 channels of band 1 are one too
#   low, as a sum of binary fractions is cut, not rounded.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile earfcn==0.0.3
cat >run.py <<'PY'
from earfcn.convert import EARFCNException, earfcn2band, earfcn2freq, freq2earfcn

for channel, right in ((300, "1, 2140.0"), (18300, "1, 1950.0"), (24300, "20, 847.0"),
                       (132072, "66, 1720.0")):
    try:
        print(f"{channel}: band {earfcn2band(channel)}, {earfcn2freq(channel)} MHz, not {right}")
    except EARFCNException as error:
        print(f"{channel}: {error}")
first = [dict(freq2earfcn(round(2110 + n / 10, 1)))[1] for n in range(600)]
print("2140.3 MHz of band 1:", dict(freq2earfcn(2140.3))[1])
print("one too low:", sum(seen == n - 1 for n, seen in enumerate(first)), "right:",
      sum(seen == n for n, seen in enumerate(first)))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
300: band 1, 2140.0 MHz, not 1, 2140.0
18300: band 32, 2290.0 MHz, not 1, 1950.0
24300: band 32, 2890.0 MHz, not 20, 847.0
132072: EARFCN 132072 not found. Try specifying frequency instead.
2140.3 MHz of band 1: 303
one too low: 240 right: 360
SEEN
