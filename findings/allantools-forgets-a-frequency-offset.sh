#!/usr/bin/env bash
# Package: allantools 2024.6 (Python 3.11), seen on 2026-11-30.
# Guess: the MTIE of a clock (ITU-T G.810, by which PTP and SyncE are judged) is the same whether
#   its frequency is given (data_type="freq") or the phase that is the sum of it.
# Seen: the mean is taken off frequencies before they are summed. A clock that runs fast by 10^-9
#   has an MTIE of 100 ns in 100 s by its phase and of 4e-23 s by its frequency, so it meets each
#   mask. With noise of 10^-10 it is 3 ns instead of 100 ns. TIE rms is the same. TDEV and the Allan
#   deviations do not depend on the mean, so a test with them shows nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile allantools==2024.6 numpy==2.4.6
cat >run.py <<'PY'
import allantools
import numpy

fast = numpy.full(1000, 1e-9)
noisy = fast + 1e-10 * numpy.random.default_rng(1).standard_normal(1000)
for name, frequency in (("fast", fast), ("fast and noisy", noisy)):
    phase = numpy.concatenate([[0], numpy.cumsum(frequency)])
    for measure in (allantools.mtie, allantools.tierms):
        seconds = [measure(data, rate=1.0, data_type=kind, taus=[100])[1][0]
                   for data, kind in ((phase, "phase"), (frequency, "freq"))]
        print(name, measure.__name__, *[f"{value:.0e}" for value in seconds])
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
fast mtie 1e-07 4e-23
fast tierms 1e-07 4e-23
fast and noisy mtie 1e-07 3e-09
fast and noisy tierms 1e-07 1e-09
SEEN
