//! Digest of what the job is built from: `common/build_stamp.rs`; and where its programs and tests find libtorch when
//! they run, so that no LD_LIBRARY_PATH is needed.

mod stamp {
    include!("../../common/build_stamp.rs");

    pub(super) fn stamp() {
        main();
    }
}

fn main() {
    stamp::stamp();
    let lib = std::env::var("DEP_TCH_LIBTORCH_LIB").expect("torch-sys says where libtorch is");
    let version = std::path::Path::new(&lib).join("../build-version");
    println!("cargo::rerun-if-changed={}", version.display());
    let version = std::fs::read_to_string(version).unwrap_or_else(|_| "of an unknown version".into());
    println!("cargo::rustc-env=FOLDLINE_LIBTORCH={}", version.trim());
    println!("cargo::rustc-link-arg=-Wl,-rpath,{lib}");
}
