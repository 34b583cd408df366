-- The fold as one would write it: a step of the specification is a step of the query.
copy (
  with
  searches as (
    select regexp_extract(sfen, '^\S+ \S+ \S+') as board, ply,
           case side when 'b' then result else -result end as z,
           case when abs(cp) >= $threshold then sign(cp) else tanh(cp / (2 * $eval_coef)) end as q,
           cand, cand_cp
    from read_parquet($corpus)),

  boards as (
    select board, min(ply) as ply, avg(z) as value_z, avg(q) as value_q, count(*) as weight
    from searches group by board),

  candidates as (
    select board, unnest(cand) as mv, unnest(cand_cp) as cp from searches),
  moves as (
    select board, mv, avg(cp) as cp from candidates group by board, mv),
  tops as (
    select board, max(cp) as top from moves group by board),
  -- where a mate leads, the lowest of the moves that share the top takes all
  leaders as (
    select board, min(move16(mv)) as leader
    from moves join tops using (board)
    where abs(top) >= $threshold and cp = top group by board),

  shares as (
    select board, mv, cp,
           case when leader is null then exp((cp - top) / $temperature)
                when move16(mv) = leader then 1 else 0 end as share
    from moves join tops using (board) left join leaders using (board)),
  totals as (
    select board, sum(share) as total from shares group by board),
  lists as (
    select board,
           list(struct_pack(mv := mv,
                            prob := cast(share / total as float),
                            cp := cast(round(cp) as smallint)) order by mv) as candidates
    from shares join totals using (board) group by board)

  select board, cast(ply as usmallint) as ply,
         cast(value_z as float) as value_z, cast(value_q as float) as value_q,
         cast(weight as uinteger) as weight, candidates
  from boards join lists using (board) order by hash(board)
) to $out (format parquet, compression zstd, row_group_size 8192)
