// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares the mirror with the header, as the C compiler lays it out.

use super::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, process};

/// Every struct of the ABI: its name in C, its size here, its fields.
fn structs() -> Vec<(&'static str, usize, &'static [Field])> {
    macro_rules! list {
        ($($name:ident)+) => {
            vec![$(($name::C_NAME, size_of::<$name>(), $name::FIELDS)),+]
        };
    }
    list!(RootSink TextSink Layout Plan Config SizeFlags Head Heads Remembered BinTable Range Vm Plugin)
}

/// Name and value of each phase, and their number.
const PHASES: [(&str, i32); 9] = [
    ("MARK", Phase::Mark as i32),
    ("SOFT_REFERENCES", Phase::SoftReferences as i32),
    ("WEAK_REFERENCES", Phase::WeakReferences as i32),
    ("FINAL_REFERENCES", Phase::FinalReferences as i32),
    ("PHANTOM_REFERENCES", Phase::PhantomReferences as i32),
    ("WEAK_ROOTS", Phase::WeakRoots as i32),
    ("FORWARD", Phase::Forward as i32),
    ("RELEASE", Phase::Release as i32),
    ("COUNT", Phase::Release as i32 + 1),
];

/// A program that prints a line for each number that the mirror claims.
fn c_program() -> String {
    let mut body = String::new();
    for (name, _, fields) in structs() {
        writeln!(body, "show(\"{name}\", sizeof({name}));").unwrap();
        for Field { name: field, .. } in fields {
            writeln!(
                body,
                "show(\"{name}.{field}\", offsetof({name}, {field}));\n\
                 show(\"sizeof {name}.{field}\", sizeof((({name}*)0)->{field}));"
            )
            .unwrap();
        }
    }
    for set in [
        "CLASS_LOADER_DATA",
        "CODE_CACHE",
        "OOP_STORAGES",
        "VM_THREAD",
        "COUNT",
    ] {
        writeln!(body, "show(\"{set}\", THIRD_PARTY_HEAP_ROOTS_{set});").unwrap();
    }
    for barrier in ["NONE", "OBJECT", "SNAPSHOT"] {
        writeln!(
            body,
            "show(\"{barrier}\", THIRD_PARTY_HEAP_BARRIER_{barrier});"
        )
        .unwrap();
    }
    for pause in ["FULL", "PARTIAL", "INITIAL_MARK", "FINAL_MARK"] {
        writeln!(body, "show(\"{pause}\", THIRD_PARTY_HEAP_PAUSE_{pause});").unwrap();
    }
    for huge_pages in ["ALWAYS", "NEVER", "RESERVED"] {
        writeln!(
            body,
            "show(\"{huge_pages}\", THIRD_PARTY_HEAP_HUGE_PAGES_{huge_pages});"
        )
        .unwrap();
    }
    for (name, _) in PHASES {
        writeln!(body, "show(\"{name}\", THIRD_PARTY_HEAP_PHASE_{name});").unwrap();
    }
    format!(
        "#include \"thirdPartyHeapPlugin.h\"\n#include <stdio.h>\n\
         static void show(const char* what, size_t value) {{ printf(\"%s %zu\\n\", what, value); }}\n\
         int main(void) {{\n{body}\
         show(\"bins\", THIRD_PARTY_HEAP_BINS);\n\
         show(\"version\", THIRD_PARTY_HEAP_ABI_VERSION);\n\
         show(\"wide\", THIRD_PARTY_HEAP_WIDE_SLOT);\n\
         puts(THIRD_PARTY_HEAP_ABI_VERSION_SYMBOL);\nputs(THIRD_PARTY_HEAP_ENTRY_SYMBOL);\n\
         return 0;\n}}\n"
    )
}

/// The same lines, from the mirror.
fn expected() -> String {
    let mut lines = String::new();
    for (name, size, fields) in structs() {
        writeln!(lines, "{name} {size}").unwrap();
        for Field {
            name: field,
            offset,
            size,
        } in fields
        {
            writeln!(
                lines,
                "{name}.{field} {offset}\nsizeof {name}.{field} {size}"
            )
            .unwrap();
        }
    }
    writeln!(
        lines,
        "CLASS_LOADER_DATA {}\nCODE_CACHE {}\nOOP_STORAGES {}\nVM_THREAD {}\nCOUNT {}",
        RootSet::ClassLoaderData as i32,
        RootSet::CodeCache as i32,
        RootSet::OopStorages as i32,
        RootSet::VmThread as i32,
        RootSet::ALL.len()
    )
    .unwrap();
    writeln!(
        lines,
        "NONE {BARRIER_NONE}\nOBJECT {BARRIER_OBJECT}\nSNAPSHOT {BARRIER_SNAPSHOT}"
    )
    .unwrap();
    writeln!(
        lines,
        "FULL {PAUSE_FULL}\nPARTIAL {PAUSE_PARTIAL}\n\
         INITIAL_MARK {PAUSE_INITIAL_MARK}\nFINAL_MARK {PAUSE_FINAL_MARK}"
    )
    .unwrap();
    writeln!(
        lines,
        "ALWAYS {HUGE_PAGES_ALWAYS}\nNEVER {HUGE_PAGES_NEVER}\nRESERVED {HUGE_PAGES_RESERVED}"
    )
    .unwrap();
    for (name, value) in PHASES {
        writeln!(lines, "{name} {value}").unwrap();
    }
    writeln!(
        lines,
        "bins {BINS}\nversion {ABI_VERSION}\nwide {WIDE_SLOT}"
    )
    .unwrap();
    lines + "third_party_heap_abi_version\nthird_party_heap_entry\n"
}

fn header_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../openjdk/src/hotspot/share/gc/thirdparty")
}

#[test]
fn mirror_is_the_header() {
    let directory = env::temp_dir().join(format!("abi-{}", process::id()));
    fs::create_dir_all(&directory).unwrap();
    let (source, program) = (directory.join("abi.c"), directory.join("abi"));
    fs::write(&source, c_program()).unwrap();
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let compiled = Command::new(compiler)
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(header_directory())
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let printed = Command::new(&program).output().unwrap();
    fs::remove_dir_all(&directory).unwrap();
    assert!(printed.status.success());
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), expected());
}

/// How many fields a struct of the header has.
fn fields_in(header: &str, name: &str) -> usize {
    let end = header.find(&format!("}} {name};")).unwrap();
    let start = header[..end].rfind("struct ").unwrap();
    header[start..end].matches(';').count()
}

/// A field that the mirror lacks would hide in padding: fields follow each other without gaps, and there are as many as in the header.
#[test]
fn mirror_has_every_field() {
    let header = fs::read_to_string(header_directory().join("thirdPartyHeapPlugin.h")).unwrap();
    let without_comments: String = header
        .split("/*")
        .map(|part| part.split_once("*/").map_or(part, |(_, rest)| rest))
        .collect();
    for (name, size, fields) in structs() {
        assert_eq!(fields.len(), fields_in(&without_comments, name), "{name}");
        let mut end = 0;
        for field in fields {
            assert_eq!(field.offset, end, "{name}.{} leaves a gap", field.name);
            end += field.size;
        }
        assert!(size - end < 8, "{name} ends with a gap");
    }
}
