# prattle
#
#   make               build ./prattle                make run [MODEL=PATH]   build and open the REPL
#   make check         all tests [DATA=DIR adds       make long               the slow ones
#                      those on data from elsewhere]
#   make bench         measure speed [MODEL=PATH]     make fuzz               libFuzzer, FUZZ_S seconds each
#   make deps          install what is missing        make install PREFIX=/usr/local
#   make format        clang-format                   make uninstall          what that installed
#   make tables        the pages' tables, anew
#   make picture DATA=DIR   README's picture, anew    make clean
#
#   BUILD=release|debug|asan   side by side under build/       V=1   show the commands

BUILD  ?= release
$(if $(filter $(BUILD),release debug asan),,$(error BUILD is $(BUILD), must be release, debug or asan))
OUT    ?= build/$(BUILD)
PREFIX ?= /usr/local
FUZZ_S ?= 60
CC     := gcc
V      ?= 0
Q      := $(if $(filter 0,$(V)),@,)

# All processors; a -j of the command line comes before it, and a make within this one shares them.
# No --output-sync: it would hold back what tests say until all are done.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif

DEPS_BUILD := gcc make pkg-config libreadline-dev libutf8proc-dev libopenblas-dev libjansson-dev \
              libyaml-dev libssl-dev libarchive-dev zlib1g-dev libexpat1-dev \
              libcurl4-openssl-dev
DEPS_CHECK := libcmocka-dev xz-utils gnuplot-nox perl-base procps g++ libsentencepiece-dev libopenmpi-dev openmpi-bin
DEPS_LONG  := valgrind nftables iproute2
LIBS       := readline libutf8proc jansson yaml-0.1 libcrypto libarchive zlib expat
# Opened at run time, when something is downloaded or multiplied by OpenBLAS: only their headers are
# needed to build.
OPENED     := libcurl openblas
# Parts beside the program, opened when they are wanted: for SentencePiece models, in C++, and for
# several processes. Each is built where its library is.
MPICC   := $(shell command -v mpicc 2>/dev/null)
PARTS   := $(if $(shell pkg-config --exists sentencepiece 2>/dev/null && command -v $(CXX)),sentencepiece) \
           $(if $(MPICC),mpi)

# From the ground up: a file includes from its own room and from those before it.
ROOMS   := model/base model/kernels model/tokenizer model \
           weights/tensors weights/bundled weights/torch weights/sentencepiece weights/hf weights/foreign weights/llmc \
           weights/gguf weights/hub weights kvcache \
           sampling/schema sampling/grammar sampling/chain sampling/text sampling/search sampling \
           train/data train/prepare train/optim train/step train/parallel train/eval train/config train/run \
           repl/terminal repl/settings repl/session repl/bench repl/commands repl
MPI_SOURCE := train/parallel/mpi_transport.c
SOURCES := $(filter-out $(MPI_SOURCE),$(foreach r,$(ROOMS),$(wildcard $(r)/*.c)))
HEADERS := $(foreach r,$(ROOMS),$(wildcard $(r)/*.h))
TESTS   := $(foreach r,$(ROOMS),$(wildcard tests/unit/$(r)/test_*.c))
HELPERS := $(wildcard tests/lib/*.c)
TOOLS   := $(wildcard tests/tools/*.c)
FUZZERS := $(wildcard tests/fuzz/fuzz_*.c)

FLAGS_release := -O2 -g
FLAGS_debug   := -Og -g3
FLAGS_asan    := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# Of what computes. In -O1 a tile's registers are arrays in memory, each access of which is checked;
# portable lanes are too, and take long to compile beyond these.
KERNELS_release  = $(if $(filter %portable.o,$@),,-O3)
KERNELS_asan     = $(if $(filter %portable.o,$@),,-O2) -fno-sanitize=pointer-overflow
# The arrays of tiles, which are registers once more where they are not watched as memory: gcc compiles
# them in a third of the time. The portable set has the same source, and all checks.
STACK_asan      := $(if $(findstring clang,$(CC)),,--param asan-stack=0)
# Of the compilers whose warnings this source has seen; a newer one has others, and newer libraries
# deprecate what older ones have alone: neither may keep anybody from building. Nor may what an
# optimizer guesses, which depends on the options that a distribution's compiler has by itself.
WERROR  := $(if $(filter 12 13 14,$(shell $(CC) -dumpversion 2>/dev/null | cut -d. -f1)),-Werror \
               $(if $(filter clang%,$(CC)),,-Wno-error=format-truncation -Wno-error=format-overflow \
               -Wno-error=maybe-uninitialized -Wno-error=stringop-overflow -Wno-error=stringop-truncation \
               -Wno-error=array-bounds))
# -ffp-contract=off: every fused multiply-add is written as one, so that all
# instruction sets give the same bits.
CFLAGS  := -std=c17 -D_GNU_SOURCE -I. -fopenmp -pthread -ffp-contract=off -fno-math-errno -MMD -MP \
           -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes \
           -Wmissing-prototypes -Wvla -Wno-deprecated-declarations $(WERROR) $(FLAGS_$(BUILD)) $(CFLAGS_EXTRA)
CFLAGS  += $(shell pkg-config --cflags $(LIBS) $(OPENED) 2>/dev/null)
LDLIBS   = $(shell pkg-config --libs $(LIBS) 2>/dev/null) -lm -ldl
LDFLAGS := -fopenmp -pthread $(filter -fsanitize%,$(FLAGS_$(BUILD)))

PRESETS := $(sort $(wildcard train/config/presets/*.yaml))
SPECS   := $(sort $(wildcard repl/bench/specs/*.yaml))
MADE    := $(OUT)/train/config/presets.c $(OUT)/repl/bench/peer_script.c $(OUT)/repl/bench/spec_texts.c
OBJECTS := $(SOURCES:%.c=$(OUT)/%.o) $(MADE:.c=.o)
LIBRARY := $(OUT)/libprattle.a
BINARY  := $(OUT)/prattle
PARTS   := $(PARTS:%=$(OUT)/prattle-%.so)
TEST_PROGRAMS := $(TESTS:%.c=$(OUT)/%) $(TOOLS:%.c=$(OUT)/%)
FUZZ_REPLAYS  := $(FUZZERS:%.c=$(OUT)/%)
TEST_LIBRARY  := $(OUT)/libtests.a
# Stands in for a library that is on few machines.
TEST_PARTS    := $(OUT)/tests/parts/libparquet-glib.so

all: $(BINARY) $(PARTS)
ifeq ($(OUT),build/release)
	@[ "$$(readlink prattle)" = $(BINARY) ] || ln -sfn $(BINARY) prattle
endif

# Where the model that ships and the parts are looked for when they are not beside the program.
$(OUT)/weights/bundled/bundled.o $(OUT)/model/base/part.o: CFLAGS += -DPREFIX='"$(PREFIX)"'
$(OUT)/model/kernels/%.o $(OUT)/sampling/%.o $(OUT)/train/optim/%.o $(OUT)/model/base/rng.o: CFLAGS += $(KERNELS_$(BUILD))
# Lanes that are values of 64 bytes, which no function takes that is not inlined.
$(OUT)/model/kernels/kernels_portable.o: CFLAGS += -Wno-psabi
# One file each may use an instruction set; the table in kernels.c chooses at run time.
$(OUT)/model/kernels/kernels_avx2.o: CFLAGS += -mavx2 -mfma -mf16c
$(OUT)/model/kernels/kernels_avx512.o: CFLAGS += -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c
$(OUT)/model/kernels/kernels_amx.o: CFLAGS += -mamx-tile -mamx-bf16 -mavx512bf16 -mavx512f -mavx512bw -mavx2
# Functions made of hundreds of inlined lanes: gcc would only say that it gives up tracking them.
$(OUT)/model/kernels/%.o: CFLAGS += -fno-var-tracking-assignments
# Below -O2 only this has gcc clear the upper halves of registers at a kernel's end; left behind, they
# slow down all that is not AVX many times over.
$(OUT)/model/kernels/kernels_avx%.o: CFLAGS += -fexpensive-optimizations $(STACK_$(BUILD))

$(OUT)/%.o: %.c Makefile
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  cc $<"
	$(Q)$(CC) $(CFLAGS) -c $< -o $@

# The presets, and the benchmarks' specifications and script, are part of the program, so that they are
# there wherever it is.
$(OUT)/train/config/presets.c: train/config/presets $(PRESETS) Makefile
	@mkdir -p $(@D)
	$(Q){ printf '#include "train/config/presets.h"\nconst struct run_preset run_presets[] = {\n'; \
	for f in $(PRESETS); do \
	    printf '{"%s",\n' "$$(basename $$f .yaml)"; sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $$f; echo '},'; \
	done; echo '{0}};'; } >$@
$(OUT)/repl/bench/peer_script.c: repl/bench/peer_torch.py Makefile
	@mkdir -p $(@D)
	$(Q){ printf '#include "repl/bench/peer_script.h"\nconst char peer_script[] =\n'; \
	sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $<; echo ';'; } >$@
$(OUT)/repl/bench/spec_texts.c: repl/bench/specs $(SPECS) Makefile
	@mkdir -p $(@D)
	$(Q){ printf '#include "repl/bench/spec_texts.h"\nconst struct spec_text spec_texts[] = {\n'; \
	for f in $(SPECS); do \
	    printf '{"%s",\n' "$$(basename $$f)"; sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $$f; echo '},'; \
	done; echo '{0}};'; } >$@
$(MADE:.c=.o): %.o: %.c
	$(Q)$(CC) $(CFLAGS) -c $< -o $@

$(LIBRARY): $(filter-out $(OUT)/repl/main.o,$(OBJECTS))
	$(Q)rm -f $@ && ar rcs $@ $^

$(BINARY): $(OUT)/repl/main.o $(LIBRARY)
	@[ $(V) = 1 ] || echo "  link $@"
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(OUT)/prattle-sentencepiece.so: weights/sentencepiece/face.cc weights/sentencepiece/face.h Makefile
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  part $@"
	$(Q)$(CXX) -std=c++17 -O2 -g -fPIC -shared -I. -Wall -Wextra $(WERROR) $(shell pkg-config --cflags sentencepiece) \
	    $< $(shell pkg-config --libs-only-L sentencepiece) -lsentencepiece -o $@

$(MPI_SOURCE:%.c=$(OUT)/%.o): $(MPI_SOURCE) Makefile
	@mkdir -p $(@D)
	@[ $(V) = 1 ] || echo "  cc $<"
	$(Q)OMPI_CC="$(CC)" MPICH_CC="$(CC)" $(MPICC) $(filter-out -fsanitize%,$(CFLAGS)) -fPIC -c $< -o $@
$(OUT)/prattle-mpi.so: $(MPI_SOURCE:%.c=$(OUT)/%.o)
	@[ $(V) = 1 ] || echo "  part $@"
	$(Q)OMPI_CC="$(CC)" MPICH_CC="$(CC)" $(MPICC) -shared $< -o $@

# The man page and bash's completion, from the program's own tables.
$(OUT)/prattle.1: $(BINARY)
	$(Q)XDG_CONFIG_HOME=/nonexistent $(BINARY) help --format man >$@.part && mv $@.part $@
$(OUT)/prattle.bash: $(BINARY)
	$(Q)XDG_CONFIG_HOME=/nonexistent $(BINARY) help --format bash >$@.part && mv $@.part $@

# Some two hundred programs, each with most of the library: gold links them in a third of the time.
TEST_LINKER := $(if $(shell command -v ld.gold),-fuse-ld=gold)

# What tests share: tests/lib/.
$(TEST_LIBRARY): $(HELPERS:%.c=$(OUT)/%.o)
	$(Q)rm -f $@ && ar rcs $@ $^

$(OUT)/tests/unit/%: $(OUT)/tests/unit/%.o $(TEST_LIBRARY) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS) $(TEST_LINKER) $^ $(LDLIBS) -lcmocka -o $@
$(OUT)/tests/tools/%: $(OUT)/tests/tools/%.o $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS) $(TEST_LINKER) $^ $(LDLIBS) -o $@
$(TEST_PARTS): tests/parts/parquet_glib.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE -O1 -g -Wall -Wextra $(WERROR) -fPIC -shared $< -o $@
$(OUT)/tests/tools/picture: $(OUT)/tests/lib/screen.o
$(OUT)/tests/tools/hub_server: $(OUT)/tests/lib/hub_server.o $(OUT)/tests/lib/hub_answer.o
# A fuzz target linked with a plain main runs its corpus as a regression.
$(OUT)/tests/fuzz/fuzz_%: $(OUT)/tests/fuzz/fuzz_%.o $(OUT)/tests/fuzz/replay.o $(TEST_LIBRARY) $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS) $(TEST_LINKER) $^ $(LDLIBS) -o $@

programs: tools $(TEST_PROGRAMS) $(FUZZ_REPLAYS)
tools: $(BINARY) $(PARTS) $(TEST_PARTS) $(TOOLS:%.c=$(OUT)/%)

# Installs what is missing, and says what; without apt or the right to use it, says which.
define install_missing
	@missing=; for p in $(1); do \
	    dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; \
	done; \
	[ -z "$$missing" ] && exit 0; \
	if ! command -v apt-get >/dev/null; then \
	    for l in $(LIBS) $(OPENED); do pkg-config --exists $$l 2>/dev/null || need="$$need $$l"; done; \
	    [ -z "$$need" ] && exit 0; \
	    echo "missing:$$need; please install the equivalents of the Debian packages:$$missing" >&2; exit 1; \
	fi; \
	sudo=; if [ "$$(id -u)" != 0 ]; then sudo=sudo; command -v sudo >/dev/null || { \
	    echo "please install as root: apt-get install$$missing" >&2; exit 1; }; fi; \
	echo "installing:$$missing"; \
	$$sudo apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends $$missing >/dev/null
endef

deps:
	$(call install_missing,$(DEPS_BUILD))
deps-check:
	$(call install_missing,$(DEPS_BUILD) $(DEPS_CHECK))

# Through a second make: what pkg-config says may have changed by the installation.
run: deps
	@$(MAKE) --no-print-directory all && ./prattle $(MODEL)

check: deps-check
	@$(MAKE) --no-print-directory BUILD=release all tools $(shell tests/run twice | sed 's|^|build/release/|')
	@$(MAKE) --no-print-directory BUILD=asan programs
	@tests/run check "$(DATA)"

deps-long:
	$(call install_missing,$(DEPS_BUILD) $(DEPS_CHECK) $(DEPS_LONG))

long: deps-long
	@$(MAKE) --no-print-directory BUILD=release all programs
	@$(MAKE) --no-print-directory BUILD=asan build/asan/prattle build/asan/prattle-mpi.so
	@tests/run long "$(DATA)"

bench: deps
	@$(MAKE) --no-print-directory all && ./prattle bench $(if $(MODEL),--model $(MODEL))

made: $(MADE)

fuzz: deps-check
	@$(MAKE) --no-print-directory BUILD=release made
	@FUZZ_SOURCES="$(filter-out model/kernels/kernels_avx% repl/main.c,$(SOURCES)) $(MADE:$(OUT)/%=build/release/%)" \
	    tests/fuzz/run $(FUZZ_S)

THERE = $(DESTDIR)$(PREFIX)
install: $(BINARY) $(PARTS) $(OUT)/prattle.1 $(OUT)/prattle.bash
	install -D -m 755 $(BINARY) "$(THERE)/bin/prattle"
	$(foreach p,$(PARTS),install -D -m 644 $(p) "$(THERE)/lib/prattle/$(notdir $(p))";)
	install -D -m 644 weights/bundled/bundled.gguf "$(THERE)/share/prattle/bundled.gguf"
	install -D -m 644 $(OUT)/prattle.1 "$(THERE)/share/man/man1/prattle.1"
	install -D -m 644 $(OUT)/prattle.bash "$(THERE)/share/bash-completion/completions/prattle"

# The parts of a build on a machine that had more libraries, too.
uninstall:
	rm -f "$(THERE)/bin/prattle" "$(THERE)/share/man/man1/prattle.1" \
	    "$(THERE)/share/bash-completion/completions/prattle"
	rm -rf "$(THERE)/lib/prattle" "$(THERE)/share/prattle"

format:
	clang-format -i $(SOURCES) $(MPI_SOURCE) $(HEADERS) $(TESTS) $(wildcard tests/lib/*.[ch]) $(TOOLS) $(FUZZERS)

clean:
	rm -rf build prattle

-include $(OBJECTS:.o=.d) $(MPI_SOURCE:%.c=$(OUT)/%.d) $(HELPERS:%.c=$(OUT)/%.d) $(TEST_PROGRAMS:=.d) $(FUZZ_REPLAYS:=.d)
tables: $(BINARY)
	PRATTLE=$(BINARY) tests/tables write
picture: $(BINARY) $(OUT)/tests/tools/transcript $(OUT)/tests/tools/picture
	PRATTLE=$(BINARY) TOOLS=$(OUT)/tests/tools DATA="$(DATA)" repl/picture/draw

.PHONY: all made programs tools tables picture deps deps-check deps-long run check long bench fuzz install uninstall format clean
.SECONDARY:
