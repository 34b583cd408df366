-- How many rows there are, and in how many each column differs. A row that one side lacks differs in all.
with
ours as (
  select packed, ply, weight, value_z, value_q, candidates from read_parquet($shards)),
theirs as (
  select packed, ply, weight, value_z, value_q,
         list_sort([{mv: move16(c.mv), prob: c.prob, cp: c.cp} for c in candidates]) as candidates
  from read_parquet($peer) left join boards using (board)),
pairs as (
  select packed, ours, theirs, list_zip(ours.candidates, theirs.candidates) as candidates
  from ours full join theirs using (packed))
select
  count(ours.weight) as rows,
  sum(len(ours.candidates)) as candidates,
  count(*) - count(distinct packed) as repeated,
  count_if(ours.ply is distinct from theirs.ply) as ply,
  count_if(ours.weight is distinct from theirs.weight) as weight,
  count_if(apart(ours.value_z, theirs.value_z)) as value_z,
  count_if(apart(ours.value_q, theirs.value_q)) as value_q,
  count_if(candidates is null or list_bool_or([c[1].mv is distinct from c[2].mv for c in candidates])) as mv,
  count_if(candidates is null or list_bool_or([c[1].cp is distinct from c[2].cp for c in candidates])) as cp,
  count_if(candidates is null or list_bool_or([apart(c[1].prob, c[2].prob) for c in candidates])) as prob
from pairs
