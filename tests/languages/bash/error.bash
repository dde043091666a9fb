set -o pipefail
(exit 3) | cat
