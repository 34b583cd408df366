//! `inspect`: what a checkpoint is.

use std::fmt;
use std::path::PathBuf;

use common::process::{Common, Failure, emit};
use serde::Serialize;

use super::train::newest;
use crate::checkpoint::{Checkpoint, Record};
use crate::cli::InspectArgs;

#[derive(Debug, Serialize)]
struct Inspection {
    #[serde(serialize_with = "common::process::cli::path_text")]
    path: PathBuf,
    parameters: usize,
    #[serde(flatten)]
    record: Record,
}

/// Shows a checkpoint, or the newest one of a run.
pub(crate) fn inspect(common: &Common, args: &InspectArgs) -> Result<(), Failure> {
    let named = &args.checkpoint;
    let read = if named.is_dir() { newest(common, named)? } else { Checkpoint::read(named)? };
    let parameters = read.parameters();
    emit(common, &Inspection { path: read.path, parameters, record: read.record })
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Record { model, step, total, cursor, best, provenance, datasets, threads, device, .. } =
            &self.record;
        let shape = model.architecture;
        writeln!(f, "{}: update {step} of {total}, epoch {}", self.path.display(), cursor.epoch)?;
        writeln!(
            f,
            "  model     width {}, heads {}, layers {}, {} parameters, {}",
            shape.width, shape.heads, shape.layers, self.parameters, model.dtype
        )?;
        let digest = &model.token_schema_sha256.as_str()[..12];
        writeln!(f, "  tokens    schema {} ({digest})", model.token_schema_version)?;
        writeln!(f, "  lanes     {} under way", cursor.active.len())?;
        if let (Some(step), Some(policy)) = (best.step, best.policy) {
            writeln!(f, "  best      update {step}, cross-entropy {policy:.4}")?;
        }
        let effects = provenance.effects.as_ref().map_or("none".into(), |effects| effects.sha256.to_string());
        writeln!(f, "  made with would_ko {}, effects {effects}", provenance.would_ko)?;
        writeln!(
            f,
            "            encoder {}, cards {}",
            provenance.encoder_version, provenance.card_catalog_sha256
        )?;
        writeln!(f, "  computed  {device}, {threads} threads")?;
        for used in datasets {
            writeln!(f, "  day       {}, {} rows, {}", used.path.display(), used.rows, used.sha256)?;
        }
        Ok(())
    }
}
