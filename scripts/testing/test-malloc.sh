#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The preloaded malloc under its corner cases and under programs, each checked by its own output.
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh

LIBRARY=$OUT/libshardsweep_malloc.so
SECURE=$OUT/libshardsweep_malloc_secure.so
WORK=$OUT/malloc

# preloaded COMMAND...: runs it on our malloc, for five minutes at most.
preloaded() { timeout --foreground 300 env LD_PRELOAD="$LIBRARY" "$@"; }

# traced COMMAND...: as preloaded, and $WORK/bindings.* has from the loader whose functions each of its processes calls.
traced() {
  rm -f "$WORK"/bindings.*
  timeout --foreground 300 env LD_DEBUG=bindings LD_DEBUG_OUTPUT="$WORK/bindings" LD_PRELOAD="$LIBRARY" "$@"
}

# served NAME: dies unless all calls of malloc that were traced are of ours. Some executables lead others to it, and define none.
served() {
  local whose file
  whose=$(sed -n "s/.* to \([^ ]*\) \[0\]: normal symbol \`malloc'.*/\1/p" "$WORK"/bindings.* | sort -u)
  grep -qxF "$LIBRARY" <<<"$whose" || die "$1 was not on our malloc"
  for file in $whose; do
    [[ $file == "$LIBRARY" ]] || ! nm -D --defined-only "$(command -v "$file")" | grep -w malloc >/dev/null || die "$1 was on the malloc of $file"
  done
}

# same NAME COMMAND...: the command says the same on our malloc as on the C library's.
same() {
  local name=$1
  shift
  "$@" >"$WORK/expected" 2>&1 || die "$name fails on the C library's malloc, too"
  traced "$@" >"$WORK/found" 2>&1 || die "$name fails on our malloc: $(tail -n 3 "$WORK/found")"
  served "$name"
  cmp -s "$WORK/expected" "$WORK/found" || die "$name says something else on our malloc: $(diff "$WORK/expected" "$WORK/found" | head -n 5)"
  say "$name: the same"
}

# cases PROGRAM: prints the cases that a program of ours lists, a line each. Dies where there is none.
cases() {
  local listed
  listed=$("$1") || die "$1 does not list its cases"
  [[ $listed ]] || die "$1 lists no case"
  echo "$listed"
}

corner_cases() {
  local names name said
  names=$(cases "$WORK/corners")
  for name in $names; do
    preloaded "$WORK/corners" "$name" || die "corner case $name does not hold"
  done
  say "corner cases hold: $(xargs <<<"$names")"
  # A heap that begins late is of a thread that was counted.
  said=$(SHARDSWEEP_SHOW_STATS=1 preloaded "$WORK/corners" late-destructors 2>&1)
  [[ $said == *"threads 2001"$'\n'* ]] || die "of 2001 threads these are counted: $(grep threads <<<"$said")"
}

# Operators new, in a C++ program and in a C program with a C++ plugin.
cxx() {
  g++ -std=c++17 -O1 -Wall -Wextra -Werror -DPROGRAM -o "$WORK/new" "$ROOT/malloc/tests/new.cc"
  g++ -std=c++17 -O1 -Wall -Wextra -Werror -shared -fPIC -o "$WORK/new.so" "$ROOT/malloc/tests/new.cc"
  gcc -std=gnu11 -O1 -Wall -Wextra -Werror -o "$WORK/load" "$ROOT/malloc/tests/load.c"
  preloaded "$WORK/new" || die "operator new does not do what it should in a C++ program"
  preloaded "$WORK/load" "$WORK/new.so" || die "operator new does not do what it should in a plugin"
  say "operators new fail as they should"
  local kind
  for kind in 1 2; do
    g++ -std=c++17 -O1 -Wall -Wextra -Werror -Wno-sized-deallocation -fsized-deallocation -DKIND="$kind" -o "$WORK/replaced" "$ROOT/malloc/tests/replaced.cc"
    preloaded "$WORK/replaced" || die "the operators that a program replaces (of kind $kind) are not those that others lead to"
  done
  say "operators that a program replaces serve the others"
}

# Programs that are odd in how they come by the library: by glibc's other names, for a while, and with another malloc beside it.
odd() {
  gcc -std=gnu11 -O1 -Wall -Wextra -Werror -fno-builtin -o "$WORK/wrapper" "$ROOT/malloc/tests/wrapper.c"
  gcc -std=gnu11 -O1 -Wall -Wextra -Werror -fno-builtin -o "$WORK/own" "$ROOT/malloc/tests/own.c"
  gcc -std=gnu11 -O1 -Wall -Wextra -Werror -o "$WORK/close" "$ROOT/malloc/tests/close.c" -pthread
  preloaded "$WORK/wrapper" || die "a program cannot put its own malloc before ours"
  preloaded "$WORK/own" || die "what a program has of a malloc of its own comes to ours"
  timeout --foreground 60 "$WORK/close" "$LIBRARY" || die "a thread does not end when the library is closed"
  say "closed while in use, and called by a program's own malloc: works"
}

# A Rust program whose allocator is ours, which reads the options.
rust_example() {
  local said
  run_logged "$OUT/log/example.log" cargo build --manifest-path "$ROOT/Cargo.toml" --package shardsweep-malloc --example global --target-dir "$OUT/cargo"
  said=$(echo "one two one" | SHARDSWEEP_SHOW_STATS=1 "$OUT/cargo/debug/examples/global" 2>"$WORK/found")
  [[ $said == "2 times one" ]] || die "the Rust program says: $said"
  grep -q "^shardsweep: blocks claimed [1-9]" "$WORK/found" || die "the Rust program was not on our malloc: $(tail -n 3 "$WORK/found")"
  say "a Rust program on our malloc: counts words"
}

# What a program does wrong ends it in secure mode: by a line, or at a guard page.
secure() {
  local listed name line said status
  # The compiler sees some of what is wrong.
  gcc -std=gnu11 -O1 -Wall -Wextra -Werror -fno-builtin -Wno-use-after-free -Wno-free-nonheap-object \
    -o "$WORK/secure" "$ROOT/malloc/tests/secure.c" -pthread
  listed=$(cases "$WORK/secure")
  while read -r name line; do
    status=0
    said=$({ LIBRARY=$SECURE preloaded "$WORK/secure" "$name"; } 2>&1) || status=$?
    if [[ $line == "Segmentation fault" ]]; then
      [[ $status == 139 && -z $said ]]
    else
      [[ $status == 134 && $said =~ ^"$line 0x"[0-9a-f]+$ ]]
    fi || die "secure mode: $name should end with '$line'; it ends with code $status and '$said'"
  done <<<"$listed"
  say "secure mode ends: $(cut -d ' ' -f 1 <<<"$listed" | xargs)"
}

# A longer block has access to the pages without access that lie in it by one call of the OS.
guards() {
  local calls
  strace -f -e trace=mprotect -o "$WORK/calls" -E LD_PRELOAD="$SECURE" "$WORK/corners" longer || die "secure mode: a longer block cannot be written"
  calls=$(grep -c 'PROT_READ|PROT_WRITE' "$WORK/calls") || true
  [[ $calls == 1 ]] || die "secure mode: a block has access to its pages by $calls calls"
  say "secure mode: a block has access to its pages by one call"
}

# The interface of shardsweep.h, in a program that is linked with the library.
header() {
  gcc -std=gnu11 -O1 -Wall -Wextra -Werror -I "$ROOT/malloc/include" -o "$WORK/header" "$ROOT/malloc/tests/header.c" \
    -L "$OUT" -lshardsweep_malloc -Wl,-rpath,"$OUT"
  timeout --foreground 120 "$WORK/header" 2>"$WORK/said" || die "shardsweep.h does not do what it says: $(cat "$WORK/said")"
  grep -q '^shardsweep: .*touched KiB' "$WORK/said" || die "shardsweep_print_stats prints: $(cat "$WORK/said")"
  say "shardsweep.h: does what it says"
}

# The library reports that it served the program, so that no test passes without it.
serves() {
  local said
  said=$(SHARDSWEEP_SHOW_STATS=1 preloaded git --version 2>&1)
  [[ $said == *"shardsweep: blocks claimed "[1-9]* ]] || die "the library is not in use"
  if said=$(SHARDSWEEP_RESET_DELAY=soon preloaded git --version 2>&1); then
    die "a bad option is accepted"
  fi
  [[ $said == "shardsweep: SHARDSWEEP_RESET_DELAY is 'soon', which is not a whole number" ]] || die "a bad option is met by: $said"
}

rust_program() {
  cat <<'END'
use std::collections::HashMap;
fn main() {
    let mut counts = HashMap::new();
    for i in 0..1000u64 {
        *counts.entry(i % 7).or_insert(0u64) += i;
    }
    let mut all: Vec<_> = counts.into_iter().collect();
    all.sort();
    println!("{all:?}");
}
END
}

# With the compiler, inflation and threads of the virtual machine, which allocate by malloc.
java_program() {
  cat <<'END'
public class Program {
    public static void main(String[] arguments) throws Exception {
        var words = new java.util.ArrayList<String>();
        for (int i = 0; i < 200_000; i++) words.add("word" + i * 7919L % 10007);
        var deflater = new java.util.zip.Deflater();
        deflater.setInput(words.toString().getBytes());
        deflater.finish();
        var threads = new java.util.ArrayList<Thread>();
        var sum = new java.util.concurrent.atomic.AtomicLong();
        for (int i = 0; i < 50; i++) threads.add(new Thread(() -> words.forEach(word -> sum.addAndGet(word.hashCode()))));
        for (var thread : threads) thread.start();
        for (var thread : threads) thread.join();
        System.out.println(words.size() + " " + deflater.deflate(new byte[1 << 21]) + " " + sum);
    }
}
END
}

# With Python's own allocator before ours, and without it, so that small objects come to ours, too.
python_tests() {
  local allocator
  for allocator in pymalloc malloc; do
    PYTHONMALLOC=$allocator traced /usr/bin/python3 -m test -q test_json test_dict test_list test_re test_gc test_thread test_queue test_zlib \
      >"$WORK/found" 2>&1 || die "Python's tests fail on $allocator: $(grep -E '^(FAIL|ERROR)|failed' "$WORK/found" | head -n 5)"
    grep -qx "Tests result: SUCCESS" "$WORK/found" || die "Python's tests do not say that they pass on $allocator"
    served "python3 -m test"
  done
  say "python3 -m test: passes"
}

page() {
  cat <<'END'
<body><script>
  const words = [];
  for (let i = 0; i < 200000; i++) words.push("word" + i * 7919 % 10007);
  document.body.textContent = words.length + " words, " + JSON.parse(JSON.stringify(words)).join("").length + " letters";
</script></body>
END
}

# Its executable has a malloc of its own: see malloc/README.md. So what is tested is that the two get on with each other.
browser() {
  page >"$WORK/page.html"
  traced chromium --headless --no-sandbox --disable-gpu --dump-dom "file://$WORK/page.html" >"$WORK/found" 2>"$WORK/chromium.log" ||
    die "chromium fails: $(tail -n 3 "$WORK/chromium.log")"
  grep -q "200000 words, 1577956 letters" "$WORK/found" || die "chromium says something else: $(head -n 5 "$WORK/found")"
  grep -q "to $LIBRARY " "$WORK"/bindings.* || die "chromium was started without our malloc"
  say "chromium: runs scripts"
}

# ask COMMAND...: what the server answers.
ask() { redis-cli -s "$SOCKET" "$@"; }

redis() {
  local server pid folder
  # The path of a socket has 107 bytes at most.
  folder=$(mktemp -d)
  SOCKET=$folder/socket
  SHARDSWEEP_SHOW_STATS=1 LD_PRELOAD=$LIBRARY redis-server --port 0 --unixsocket "$SOCKET" --save '' --dir "$WORK" >"$WORK/redis.log" 2>&1 &
  server=$!
  # Whatever fails below, it ends.
  # shellcheck disable=SC2064 # the server as it is now: a function's variable is gone when the script ends
  trap "kill $server 2>/dev/null || true; rm -rf '$folder'" RETURN EXIT
  for ((wait = 0; wait < 100; wait++)); do
    [[ $(ask ping 2>/dev/null) == PONG ]] && break
    sleep 0.2
  done
  ((wait < 100)) || die "redis-server does not answer: $(tail -n 3 "$WORK/redis.log")"
  redis-benchmark -s "$SOCKET" -n 20000 -r 5000 -d 200 -q -t set,lpush,lrange_100 >/dev/null || die "redis-benchmark fails"
  redis-benchmark -s "$SOCKET" -n 5000 -q rpush counted x >/dev/null || die "redis-benchmark fails"
  [[ $(ask llen counted) == 5000 && $(ask strlen "key:$(printf '%012d' 1)") =~ ^(0|200)$ ]] || die "redis has lost what was pushed"
  (($(ask dbsize) > 1000)) || die "redis has lost what was set"
  ask flushall >/dev/null
  pid=$(ask info server | tr -d '\r' | sed -n 's/^process_id://p')
  ask shutdown nosave
  wait "$server" || die "redis-server (process $pid) ends with $?"
  trap - RETURN EXIT
  rm -rf "$folder"
  grep -q "^shardsweep: blocks claimed [1-9]" "$WORK/redis.log" || die "redis-server was not on our malloc: $(tail -n 3 "$WORK/redis.log")"
  say "redis: answers"
}

programs() {
  same "python3" /usr/bin/python3 -c 'import json, re, threading
t = [threading.Thread(target=lambda: [json.loads(json.dumps({str(i): list(range(i % 50))})) for i in range(4000)]) for _ in range(4)]
[x.start() for x in t]; [x.join() for x in t]
print(sum(len(re.findall("[0-9]+", json.dumps(list(range(n))))) for n in range(300)))'
  same "git" git -C "$ROOT" log --stat -n 30
  same "gcc" gcc -O2 -S -o - "$ROOT/malloc/tests/corners.c"
  same "sqlite3" sqlite3 :memory: "create table t(a integer primary key, b text);
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000) insert into t select i, printf('%08d', i * 7919 % 50000) from n;
    create index u on t(b); select count(*), sum(a), min(b), max(b) from t where b like '%7%'; delete from t where a % 3 = 0; vacuum;
    select count(*), group_concat(substr(b, 8)) from t where a < 200;"
  rust_program >"$WORK/program.rs"
  # rustup's executable has a malloc of its own.
  same "rustc" /usr/bin/rustc -O --crate-name program --emit asm -o - "$WORK/program.rs"
  java_program >"$WORK/Program.java"
  same "HotSpot" java -XX:+UseParallelGC "$WORK/Program.java"
  same "sort" sort --parallel=2 -S 20M "$ROOT/Cargo.lock" "$ROOT/README.md"
}

main() {
  need_packages gcc g++ binutils libc6-dev strace python3 git sqlite3 redis-server redis-tools openjdk-17-jdk-headless libpython3.11-testsuite rustc-web chromium
  ../building/malloc.sh
  ../building/malloc.sh secure
  mkdir -p "$WORK"
  lock_file "$WORK/test.lock"
  gcc -std=gnu11 -O1 -Wall -Wextra -Werror -o "$WORK/corners" "$ROOT/malloc/tests/corners.c" -pthread
  serves
  header
  rust_example
  ./malloc_code.py
  secure
  guards
  for LIBRARY in "$LIBRARY" "$SECURE"; do
    say "on ${LIBRARY##*/}"
    corner_cases
    odd
    cxx
    programs
    python_tests
    browser
    redis
  done
}

# Tests of this file take functions out of it.
[[ ${BASH_SOURCE[0]} != "$0" ]] || main
