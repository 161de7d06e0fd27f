#!/usr/bin/env bash
# Package: nistrng 1.2.3 with numpy 2.4.6 (Python 3.11), seen on 2026-11-30.
# Guess: the first million bits of e have the p-values of NIST SP 800-22 Rev. 1a, Appendix B:
#   longest run 0.718945, Maurer's universal test 0.282568. A walk of 3200 steps that comes to 160
#   has the cumulative sums p-value 0.0094 (2.13) and fails at 0.01.
# Seen: monobit, runs and the spectral test are those of NIST. The longest run is 0.587744 and the
#   universal test 0.998657. The package's own bits are 8-bit numbers, and with numpy 2 its
#   cumulative sums wrap at 127: the walk has 0.0495 and passes. With wider numbers it fails. pip
#   sees no conflict.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile nistrng==1.2.3 numpy==2.4.6 mpmath==1.3.0
cat >run.py <<'PY'
import mpmath
import numpy
from nistrng import SP800_22R1A_BATTERY, pack_sequence


def result(name, bits):
    answer = SP800_22R1A_BATTERY[name].run(bits)[0]
    return f"{name} {answer.score:.6f} {'passed' if answer.passed else 'failed'}"


count = 1000000
mpmath.mp.prec = count + 100
number = int(mpmath.floor(mpmath.e * mpmath.mpf(2) ** (count - 2)))
bits = pack_sequence(numpy.frombuffer(number.to_bytes(count // 8, "big"), dtype=numpy.uint8))
for name, published in [("monobit", 0.953749), ("runs", 0.561917), ("dft", 0.847187),
                        ("longest_run_ones_in_a_block", 0.718945),
                        ("maurers_universal", 0.282568)]:
    print(result(name, bits), "NIST", published)
walk = pack_sequence(numpy.array(([255] * 20 + [0] * 20) * 10))
print(walk.dtype, result("cumulative sums", walk))
print("wider", result("cumulative sums", walk.astype(int)))
PY
seen=$(venv/bin/python -W ignore run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
monobit 0.953749 passed NIST 0.953749
runs 0.561917 passed NIST 0.561917
dft 0.847187 passed NIST 0.847187
longest_run_ones_in_a_block 0.587744 passed NIST 0.718945
maurers_universal 0.998657 passed NIST 0.282568
int8 cumulative sums 0.049528 passed
wider cumulative sums 0.009355 failed
SEEN
