# shellcheck shell=bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The tree that is compiled: a copy of OpenJDK's source, with the files that we patch and the files that we add (the "layer") laid
# over it. Files are compared by content, so that one that did not change keeps its time stamp and is not compiled again.
# Sourced by jdk.sh, after lib.sh.

# patch_targets PATCH: the files that a patch changes or makes, as paths in the tree.
patch_targets() { sed -n 's/^+++ [^/]*\/\([^[:space:]]*\).*/\1/p' "$1"; }

# apply_patch PATCH SOURCE LAYER: applies PATCH in LAYER, which gets each file that it touches from SOURCE. Hunks may have moved
# but must match exactly: a guessed place in a garbage collector is worse than a refusal.
apply_patch() {
  local patch=$1 source=$2 layer=$3 target output
  while IFS= read -r target; do
    [[ -e $layer/$target ]] && continue
    mkdir -p "$(dirname "$layer/$target")"
    if [[ -e $source/$target ]]; then cp "$source/$target" "$layer/$target"; fi
  done < <(patch_targets "$patch")
  output=$(patch -d "$layer" -p1 --fuzz=0 --forward --batch --no-backup-if-mismatch --reject-file=- <"$patch" 2>&1) && return
  local failed
  failed=$(awk '
    /^(checking|patching) file / { file = $3 }
    /^Hunk #[0-9]+ (FAILED|ignored)/ { print file ", hunk " $2 " (line " $NF + 0 ")"; exit }
    /^can.t find file to patch/ { missing = 1 }
    missing && /^\|\+\+\+ / { sub(/^\|\+\+\+ [^\/]*\//, ""); print $1 ", which is not in this source"; exit }
    /^Reversed|^The next patch would/ { print file ", which seems to have the change already"; exit }
  ' <<<"$output")
  die "${patch#"$ROOT"/} does not apply to $OPENJDK_NAME: ${failed:-$(tail -n 1 <<<"$output")}"
}

# make_layer SOURCE LAYER: fills LAYER with every file in which our tree differs from SOURCE.
make_layer() {
  local source=$1 layer=$2 patch
  rm -rf "$layer"
  mkdir -p "$layer"
  for patch in "$ROOT"/openjdk/patches/*.patch; do
    [[ -e $patch ]] || continue
    apply_patch "$patch" "$source" "$layer"
  done
  [[ -d $ROOT/openjdk/src ]] || return 0
  mkdir -p "$layer/src"
  cp -r "$ROOT/openjdk/src/." "$layer/src/"
}

layer_files() { (cd "$1" && find . -type f -printf '%P\n' | LC_ALL=C sort); }

# lay_over LAYER SOURCE TREE: makes TREE equal to SOURCE with LAYER over it, given that it was so with an earlier layer.
lay_over() {
  local layer=$1 source=$2 tree=$3 files=$3.layer file
  if [[ -e $files ]]; then
    while IFS= read -r file; do
      if [[ -e $source/$file ]]; then
        put_file "$source/$file" "$tree/$file"
      else
        rm -f "$tree/$file"
        # An earlier run may have been interrupted after this.
        [[ ! -d $tree/$(dirname "$file") ]] || (cd "$tree" && rmdir -p --ignore-fail-on-non-empty "$(dirname "$file")")
      fi
    done < <(LC_ALL=C comm -23 "$files" <(layer_files "$layer"))
  fi
  # Written before the files, so that an interruption leaves no file in the tree that the list does not name.
  { layer_files "$layer"; cat "$files" 2>/dev/null || true; } | LC_ALL=C sort -u >"$files.part"
  mv "$files.part" "$files"
  while IFS= read -r file; do put_file "$layer/$file" "$tree/$file"; done < <(layer_files "$layer")
  layer_files "$layer" >"$files.part"
  mv "$files.part" "$files"
}

# copy_tree SOURCE TREE: the first copy of Debian's source, which never changes.
copy_tree() {
  [[ -d $2 ]] && return
  say "copying the source"
  mkdir -p "$(dirname "$2")"
  rm -rf "$2.part" "$2.layer"
  cp -a --reflink=auto "$1" "$2.part"
  mv "$2.part" "$2"
}

# mirror_tree SOURCE TREE: brings TREE to the state of a user's tree, which may have changed since the last time. The files of the
# layer are lay_over's business. Time stamps are not taken over: an older file that comes back has to be compiled, too.
mirror_tree() {
  local source=$1 tree=$2
  mkdir -p "$tree"
  touch "$tree.layer"
  sed 's|^|/|' "$tree.layer" >"$tree.exclude"
  run_logged "$CACHE/log/mirror.log" rsync -rlp --checksum --delete --exclude=/.git --exclude=/build --exclude-from="$tree.exclude" \
    "$source/" "$tree/"
}
