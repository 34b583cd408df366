//! Digest of what the job is built from: `common/build_stamp.rs`.

include!("../../common/build_stamp.rs");
