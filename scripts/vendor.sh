#!/bin/sh
# Copies what the page loads from npm packages to where it is served. Run at setup, and when the image is built.
set -eu
cd "$(dirname "$0")/.."
mkdir -p frontend/vendor
cp node_modules/temml/dist/temml.mjs frontend/vendor/temml.js
cp node_modules/temml/dist/Temml-Local.css frontend/vendor/temml.css
cp node_modules/temml/dist/Temml.woff2 frontend/vendor/
cp node_modules/pdfjs-dist/legacy/build/pdf.min.mjs frontend/vendor/pdf.js
cp node_modules/pdfjs-dist/legacy/build/pdf.worker.min.mjs frontend/vendor/pdf.worker.js
