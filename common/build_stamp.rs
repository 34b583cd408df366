// Build script of every job: FOLDLINE_BUILD, a digest of what the job is built from. It is part of every action's key,
// so that results of another version are never taken for this one's. Sources, not the binary: those are the same on
// every machine and in every build folder.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

fn main() {
    let common = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../common");
    let roots = ["src".into(), common.join("src"), common.join("../Cargo.lock")];
    let mut hash = Sha256::new();
    for root in &roots {
        println!("cargo::rerun-if-changed={}", root.display());
        for file in files(root) {
            let name = file.strip_prefix(root).expect("files lie below their root");
            let content = std::fs::read(&file).expect("sources are readable");
            for field in [name.to_string_lossy().as_bytes(), &content] {
                hash.update((field.len() as u64).to_le_bytes());
                hash.update(field);
            }
        }
    }
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=FOLDLINE_BUILD={hex}");
}

/// All files below a path, in order.
fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.into()];
    }
    let entries = std::fs::read_dir(path).expect("sources are readable");
    let mut entries: Vec<_> = entries.map(|entry| entry.expect("sources are readable").path()).collect();
    entries.sort();
    entries.iter().flat_map(|entry| files(entry)).collect()
}
