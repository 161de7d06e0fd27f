#!/usr/bin/env bash
# Package: csaf-tool 0.3.2 (Python 3.11), seen on 2026-11-30.
# Guess: add_vulnerability takes a product and its release, and the status is written for that
#   product: a document can say that release 1.0 is affected, that 1.1 is fixed, and something about
#   another product.
# Seen: each status is written for the first product that was added, whatever product and release it
#   was given: release 1.0 of the core is affected and fixed, and affected by what is in the RAN. The
#   other products stand in the tree and have no status. Unknown products are not refused either.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --no-deps csaf-tool==0.3.2
cat >run.py <<'PY'
from csaf.generator import CSAFGenerator

generator = CSAFGenerator()
generator.set_header_title("N2")
generator.set_title("N2")
generator.set_id("A-1")
for name, release in [("core", "1.0"), ("core", "1.1"), ("ran", "2.0")]:
    generator.add_product(product_name=name, vendor="Vendor", release=release)
for name, release, number, status in [
    ("core", "1.0", "CVE-2026-0001", "known_affected"),
    ("core", "1.1", "CVE-2026-0001", "fixed"),
    ("ran", "2.0", "CVE-2026-0002", "known_affected"),
    ("xapp", "3.0", "CVE-2026-0003", "fixed"),
]:
    generator.add_vulnerability(name, release, number, "text", status, "comment")
    print("said:", name, release, status, number)
generator.generate_csaf()
document = generator.csaf_document
names = {version["product"]["product_id"]: version["product"]["name"]
         for vendor in document["product_tree"]["branches"]
         for product in vendor["branches"] for version in product["branches"]}
print("products:", ", ".join(names.values()))
for vulnerability in document["vulnerabilities"]:
    for status, products in vulnerability["product_status"].items():
        print("written:", ", ".join(names[product] for product in products), status,
              vulnerability["cve"])
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
said: core 1.0 known_affected CVE-2026-0001
said: core 1.1 fixed CVE-2026-0001
said: ran 2.0 known_affected CVE-2026-0002
said: xapp 3.0 fixed CVE-2026-0003
products: Vendor core 1.0, Vendor core 1.1, Vendor ran 2.0
written: Vendor core 1.0 known_affected CVE-2026-0001
written: Vendor core 1.0 fixed CVE-2026-0001
written: Vendor core 1.0 known_affected CVE-2026-0002
written: Vendor core 1.0 fixed CVE-2026-0003
SEEN
