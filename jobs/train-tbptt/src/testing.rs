//! What unit tests share: bundled days, and a small model of them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use common::state::cache::ColumnSet;
use tch::Device;

use crate::cards::CardTable;
use crate::config::{Architecture, Config};
use crate::data::{Cached, Days, Lanes};
use crate::model::Model;
use crate::plan::Micro;
use crate::trainer::Trainer;
use crate::window::Window;

/// Where the bundled games and cards are.
fn bundled() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/tcg")
}

/// A bundled day, built once a process.
pub(crate) fn day(date: &str) -> PathBuf {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = |path: PathBuf| path.into_os_string();
        let mut args = vec!["day-build".into(), "build".into()];
        args.extend(
            ["2026-11-21", "2026-11-23"].map(|date| path(bundled().join(format!("replays/{date}.zip")))),
        );
        args.extend(["-o".into(), folder.path().into(), "--flush".into(), "5".into(), "--quiet".into()]);
        args.extend(["--cards".into(), path(bundled().join("cards/cards_v2.tsv"))]);
        args.extend(["--attacks".into(), path(bundled().join("cards/attacks_v2.tsv"))]);
        day_build::main(args);
        folder
    });
    folder.path().join(format!("{date}.parquet"))
}

/// The bundled cards.
pub(crate) fn cards() -> CardTable {
    let table = |name: &str| bundled().join("cards").join(name);
    CardTable::read(&table("cards_v2.tsv"), &table("attacks_v2.tsv")).unwrap()
}

/// A day's lanes, and its rows.
pub(crate) struct Games {
    pub(crate) days: Arc<Days>,
    pub(crate) lanes: Lanes,
}

impl Games {
    pub(crate) fn of(date: &str) -> Self {
        let days = Days::open(&[day(date)]).unwrap();
        let lanes = Lanes::of(&days).unwrap();
        Self { days: Arc::new(days), lanes }
    }

    pub(crate) fn rows(&self) -> Cached {
        Cached::open(&self.days, ColumnSet::Train, 1 << 30).unwrap()
    }

    pub(crate) fn window(&self, micros: Vec<Micro>, compact: bool) -> Window {
        Window::make(micros, &self.lanes, &mut self.rows(), compact).unwrap()
    }
}

/// A configuration with a small model.
pub(crate) fn small() -> Config {
    Config { model: Architecture { width: 16, heads: 2, layers: 2, memory: true }, ..Config::default() }
}

/// A trainer of a small model, on one thread.
pub(crate) fn trainer(config: Config) -> Trainer {
    tch::set_num_threads(1);
    let model = Model::new(config.model, &cards(), 5, Device::Cpu);
    Trainer::new(model, config, 100)
}
