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
  wanted="$VERSION $MADE_BY $(agent_sources | xargs cat | cat - "$libjvm" | sha256sum)"
  if [[ -e $stamp && $(<"$stamp") == "$wanted" ]]; then return; fi
  say "assembling ${jdk#"$ROOT"/}"
  if [[ -e $stamp && $(cut -d' ' -f1,2 "$stamp") == "$VERSION $MADE_BY" ]]; then
    rm "$stamp"
  else
    rm -rf "$jdk.part"
    mkdir -p "$OUT"
    cp -a --reflink=auto "$IMAGE" "$jdk.part"
    if [[ -d $jdk/lib/mmtk ]]; then cp -a "$jdk/lib/mmtk" "$jdk.part/lib/"; fi
    # Renamed first: an interruption while it is removed leaves the plugins in the new one.
    rm -rf "$jdk.old"
    [[ ! -e $jdk ]] || mv "$jdk" "$jdk.old"
    mv "$jdk.part" "$jdk"
    rm -rf "$jdk.old"
  fi
  put_file "$libjvm" "$jdk/lib/server/libjvm.so"
  patch_agent "$jdk"
  dump_cds "$jdk"
  echo "$wanted" >"$stamp"
}

# agent_sources: prints the files of the layer that are part of the Serviceability Agent.
agent_sources() { find "$CACHE/layer/src/jdk.hotspot.agent" -name '*.java' | LC_ALL=C sort; }

# patch_agent JDK: has jhsdb run the agent with our classes in it. The module itself stays as Debian's packages have it.
patch_agent() {
  local jdk=$1 sources
  mapfile -t sources < <(agent_sources)
  rm -rf "$jdk/lib/thirdparty-agent"
  run_logged "$CACHE/log/agent.log" "$IMAGE/bin/javac" -XDignore.symbol.file -d "$jdk/lib/thirdparty-agent" \
    --patch-module "jdk.hotspot.agent=$CACHE/layer/src/jdk.hotspot.agent/share/classes" "${sources[@]}"
  cat >"$jdk/bin/jhsdb.new" <<'END'
#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# As the JDK's own launcher, with a Serviceability Agent that knows the third-party heap. -Joption goes to the JVM that runs it.
options=
home=$(dirname "$(readlink -f "$0")")/..
for argument do
  shift
  case $argument in
    -J*) options="$options ${argument#-J}" ;;
    *) set -- "$@" "$argument" ;;
  esac
done
# shellcheck disable=SC2086 # options are words
exec "$home/bin/java" $options --patch-module "jdk.hotspot.agent=$home/lib/thirdparty-agent" \
  --module jdk.hotspot.agent/sun.jvm.hotspot.SALauncher "$@"
END
  chmod +x "$jdk/bin/jhsdb.new"
  mv -f "$jdk/bin/jhsdb.new" "$jdk/bin/jhsdb"
}

# The class data archives hold the identity of the JVM that wrote them, so ours has to write its own. The sizes are those that
# the JDK's build uses: they fix the heap region size, and with it which archived objects can be mapped later.
dump_cds() {
  local jdk=$1
  rm -f "$jdk"/lib/server/*.jsa
  run_logged "$CACHE/log/cds.log" "$jdk/bin/java" -Xshare:dump -XX:+UseG1GC -Xmx128M -Xms128M
  run_logged "$CACHE/log/cds-nocoops.log" "$jdk/bin/java" -Xshare:dump -XX:+UseG1GC -Xmx128M -Xms128M -XX:-UseCompressedOops
}
