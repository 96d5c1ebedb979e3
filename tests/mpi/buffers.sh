#!/usr/bin/env bash
# seconds: 120
# What a pipeline sends arrives while its sender computes, also where no process may read the memory of another.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
tools=${TOOLS:-$PWD/build/release/tests/tools}
# The part for several processes is looked for beside the program.
cp "$tools/mpi_push" "$(dirname "$(realpath "$PRATTLE")")/prattle-mpi.so" "$TMPDIR/"
cd "$TMPDIR" || exit 1
# push BYTES: a message, by two ranks.
push() { timeout 60 "${MPIRUN[@]}" -np 2 ./mpi_push "$1" 2>&1; }
is "a message of 4 KiB arrives" arrived "$(push 4096)"
is "  of 128 KiB" arrived "$(push 131072)"
is "  not of 1 MiB" "waited for its sender" "$(push 1048576)"
is "what the user has set stays" "waited for its sender" "$(OMPI_MCA_btl_vader_eager_limit=4096 push 131072)"
mkdir -p home/.openmpi
echo 'btl_vader_eager_limit = 4096' >home/.openmpi/mca-params.conf
is "  in a file too" "waited for its sender" "$(HOME=$TMPDIR/home push 131072)"
is "nothing is left" "" "$(left)"
finish
