# shellcheck shell=bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Makes a JDK that can be moved out of Debian's binary packages, and puts our JVM into a copy of it.
# Sourced by jdk.sh, after lib.sh.

# Sets IMAGE to the JDK of Debian's packages of VERSION, complete in one folder. It is also the JDK that compiles the build's tools.
# Made again when this file has changed.
unpack_image() {
  IMAGE=$CACHE/image/$VERSION
  MADE_BY=$(sha256sum <"${BASH_SOURCE[0]}" | cut -c1-12)
  [[ -e $IMAGE/.made-by && $(<"$IMAGE/.made-by") == "$MADE_BY" ]] && return
  say "unpacking the binary packages"
  local part=$CACHE/image/.part deb
  rm -rf "$part"
  mkdir -p "$part"
  for deb in "$CACHE/downloads/$VERSION"/*.deb; do dpkg -x "$deb" "$part"; done
  resolve_links "$part" "$part/usr/lib/jvm/java-17-openjdk-amd64"
  echo "$MADE_BY" >"$part/usr/lib/jvm/java-17-openjdk-amd64/.made-by"
  rm -rf "$IMAGE"
  mv "$part/usr/lib/jvm/java-17-openjdk-amd64" "$IMAGE"
  rm -rf "$part"
}

# resolve_links PACKAGES JDK: links from JDK to /etc become the files that PACKAGES ship there, links to what other packages
# ship go, and the certificates (which Debian makes at installation) are made from the ones in OpenJDK's source.
resolve_links() {
  local packages=$1 jdk=$2 link target
  while IFS= read -r link; do
    target=$packages$(readlink "$link")
    rm "$link"
    if [[ -e $target ]]; then cp -rL "$target" "$link"; fi
  done < <(find "$jdk" -lname '/*')
  # The documentation's link leads out of the JDK, the others lead nowhere.
  find "$jdk" \( -lname '*/share/doc/*' -o -xtype l \) -delete
  "$jdk/bin/java" "$SOURCE/make/jdk/src/classes/build/tools/generatecacerts/GenerateCacerts.java" \
    "$SOURCE/make/data/cacerts" "$jdk/lib/security/cacerts"
}

# assemble LIBJVM JDK: makes JDK a copy of IMAGE with LIBJVM in it. What else was put there (plugins) stays.
assemble() {
  local libjvm=$1 jdk=$2 stamp=$2/lib/server/shardsweep.stamp wanted
  wanted="$VERSION $MADE_BY $(sha256sum <"$libjvm")"
  if [[ -e $stamp && $(<"$stamp") == "$wanted" ]]; then return; fi
  say "assembling ${jdk#"$ROOT"/}"
  if [[ -e $stamp && $(cut -d' ' -f1,2 "$stamp") == "$VERSION $MADE_BY" ]]; then
    rm "$stamp"
  else
    rm -rf "$jdk.part"
    mkdir -p "$OUT"
    cp -a --reflink=auto "$IMAGE" "$jdk.part"
    if [[ -d $jdk/lib/mmtk ]]; then cp -a "$jdk/lib/mmtk" "$jdk.part/lib/"; fi
    rm -rf "$jdk"
    mv "$jdk.part" "$jdk"
  fi
  put_file "$libjvm" "$jdk/lib/server/libjvm.so"
  dump_cds "$jdk"
  echo "$wanted" >"$stamp"
}

# The class data archives hold the identity of the JVM that wrote them, so ours has to write its own. The sizes are those that
# the JDK's build uses: they fix the heap region size, and with it which archived objects can be mapped later.
dump_cds() {
  local jdk=$1
  rm -f "$jdk"/lib/server/*.jsa
  run_logged "$CACHE/log/cds.log" "$jdk/bin/java" -Xshare:dump -XX:+UseG1GC -Xmx128M -Xms128M
  run_logged "$CACHE/log/cds-nocoops.log" "$jdk/bin/java" -Xshare:dump -XX:+UseG1GC -Xmx128M -Xms128M -XX:-UseCompressedOops
}
