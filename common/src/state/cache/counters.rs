//! What a cache counts, and what its end report says of it. Source: "Counters", "Rules of thumb".

use std::fmt;

use serde::Serialize;

/// Counts from a cache's beginning, and what it holds now. Trackers show them under `cache_train/` and `cache_val/`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Accesses that found their group in memory.
    pub hits: u64,
    /// Accesses that did not.
    pub misses: u64,
    /// Groups that became hot.
    pub promotions: u64,
    /// Groups that left memory.
    pub evictions: u64,
    /// Misses that a spill file answered.
    pub ssd_hits: u64,
    /// Spill files written.
    pub ssd_spills: u64,
    /// Groups on the disk now.
    pub ssd_resident: u64,
    /// Spill files that could not be written, or were not what they should be.
    pub spill_errors: u64,
    /// Groups that left memory without a place on the disk.
    pub dropped: u64,
    /// Misses that a warm set answered.
    pub warm_hits: u64,
    /// Hot groups now.
    pub resident_hot: u64,
    /// Transient groups now.
    pub resident_transient: u64,
    /// Bytes in memory now.
    pub resident_bytes: u64,
    /// Groups decoded.
    pub decodes: u64,
    /// Bytes decoded.
    pub bytes_loaded: u64,
    /// Accesses that waited for a group which another thread was bringing.
    pub coalesced: u64,
    /// Groups that were brought before they were asked for.
    pub read_ahead: u64,
}

impl Counters {
    /// Hits among all accesses, in percent; 100 where there was none.
    pub fn hit_rate_pct(&self) -> f64 {
        let accesses = self.hits + self.misses;
        if accesses == 0 { 100.0 } else { 100.0 * self.hits as f64 / accesses as f64 }
    }

    /// What is wrong with how the cache is set up, and what to change.
    pub fn advice(&self) -> Vec<String> {
        let mut advice = vec![];
        if self.hit_rate_pct() < 90.0 {
            advice.push(format!(
                "hit rate {:.1} %: raise the capacity, project fewer columns, or train on fewer days at once",
                self.hit_rate_pct()
            ));
        }
        if self.evictions > 0 && self.ssd_hits + self.warm_hits == 0 {
            advice.push(format!(
                "{} evictions and no group read back: raise the capacity, or spill nothing",
                self.evictions
            ));
        }
        if self.spill_errors > 0 {
            advice.push(format!(
                "{} spill files failed: look for room on the spill folder's disk, and for its health",
                self.spill_errors
            ));
        }
        advice
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let Self { hits, misses, promotions, evictions, ssd_hits, ssd_spills, ssd_resident, .. } = self;
        let Self { resident_hot: hot, resident_transient: transient, .. } = self;
        writeln!(f, "hits={hits} misses={misses} hit_rate={:.1}%", self.hit_rate_pct())?;
        write!(f, "  resident={} rg (hot={hot} / transient={transient}) ", hot + transient)?;
        writeln!(f, "{:.1} MiB promotions={promotions}", mebibytes(self.resident_bytes))?;
        write!(
            f,
            "  evictions={evictions} dropped={} ssd_hits={ssd_hits} ssd_spills={ssd_spills} ",
            self.dropped
        )?;
        writeln!(f, "ssd_resident={ssd_resident} spill_errors={}", self.spill_errors)?;
        write!(f, "  decoded={} rg, {:.1} MiB ", self.decodes, mebibytes(self.bytes_loaded))?;
        let Self { warm_hits, coalesced, read_ahead, .. } = self;
        write!(f, "warm_hits={warm_hits} coalesced={coalesced} read_ahead={read_ahead}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_and_its_advice() {
        let good = Counters { hits: 85705, misses: 5, ..Counters::default() };
        assert!(good.advice().is_empty());
        assert!(good.to_string().starts_with("hits=85705 misses=5 hit_rate=100.0%\n"));
        assert_eq!(Counters::default().hit_rate_pct(), 100.0);
        let bad = Counters { hits: 8, misses: 2, evictions: 2, spill_errors: 1, ..Counters::default() };
        assert_eq!(bad.advice().len(), 3);
        assert_eq!(Counters { hits: 9, misses: 1, ..bad }.advice().len(), 2);
    }
}
