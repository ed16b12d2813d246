#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Tests that build/jdk is a whole JDK: no link leads out of it, it starts with its class data archives, compiles, and has its
# configuration files. Usage: test-image.sh [JDK]
set -euo pipefail
jdk=${1:+$(realpath -m "$1")}
cd "$(dirname "$0")"
source ../lib.sh
source ./check.sh

JDK=${jdk:-$OUT/jdk}
need_jdk "$JDK"
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

cat >"$WORK/Probe.java" <<'JAVA'
import java.security.KeyStore;
import java.util.zip.CRC32;
import javax.net.ssl.SSLContext;

class Probe {
    public static void main(String[] args) throws Exception {
        KeyStore trusted = KeyStore.getInstance(new java.io.File(System.getProperty("java.home"), "lib/security/cacerts"), (char[]) null);
        CRC32 crc = new CRC32();
        crc.update(new byte[] {1, 2, 3});
        SSLContext.getDefault();
        System.out.println("roots " + (trusted.size() > 50) + ", crc " + crc.getValue());
    }
}
JAVA

check "no link dangles" equal "$(find "$JDK" -xtype l)" ""
check "no link leads out" equal "$(find "$JDK" -type l -lname '/*')" ""
check "it says its version" says 'OpenJDK 64-Bit Server VM .*sharing' "$JDK/bin/java" -version
check "its archive maps with compressed oops" says sharing "$JDK/bin/java" -Xshare:on -version
check "its archive maps without compressed oops" says sharing "$JDK/bin/java" -Xshare:on -XX:-UseCompressedOops -version
for collector in Serial Parallel G1 Z; do
  check "it runs with $collector" says OpenJDK "$JDK/bin/java" "-XX:+Use${collector}GC" -version
done
check "it compiles" "$JDK/bin/javac" -d "$WORK" "$WORK/Probe.java"
check "it finds certificates and libraries" says 'roots true, crc 1438416925' "$JDK/bin/java" -cp "$WORK" Probe
cp -r "$JDK" "$WORK/moved"
check "it works from another place" says 'roots true' "$WORK/moved/bin/java" -cp "$WORK" Probe
finish
