//! The row-group cache: rows of decision days and folded shards at the speed of memory, within a bound of memory. Source:
//! "Hierarchical KV Cache".

mod policy;

pub use policy::{Arrival, Evicted, Fate, Found, Limits, Policy};
