#!/usr/bin/env bash
# Package: durationpy 0.11 (Python 3.11), which the Kubernetes client installs; seen on 2026-11-30.
# Guess: a duration that is written and read again is the same: Go writes each digit that is not 0,
#   and so does this package for what is below a second. 12.345678 s is `12.345678s`.
# Seen: seconds and their fraction have six digits together. 12.345678 s becomes `12.3457s`, a
#   microsecond beyond a second is lost, and 59.999999 s is `60s`. Text of Go is read in full.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile durationpy==0.11
cat >run.py <<'PY'
from datetime import timedelta

from durationpy import from_str, to_str

for micros in [999999, 1000001, 12345678, 59999999, 3661123456, -1000001]:
    span = timedelta(microseconds=micros)
    text = to_str(span)
    print(f"{micros} us is {text}, read as {from_str(text) // timedelta(microseconds=1)} us")
print("12.345678s is", from_str("12.345678s") // timedelta(microseconds=1), "us")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
999999 us is 999ms999us, read as 999999 us
1000001 us is 1s, read as 1000000 us
12345678 us is 12.3457s, read as 12345700 us
59999999 us is 60s, read as 60000000 us
3661123456 us is 1h1m1.12346s, read as 3661123460 us
-1000001 us is -1s, read as -1000000 us
12.345678s is 12345678 us
SEEN
