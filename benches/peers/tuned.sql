-- The fold with DuckDB at its best: no join, no pattern, and a board of one search (most of them) never taken
-- apart. The candidates of a row are left unsorted.
copy (
  with
  searches as (
    select left(sfen, strlen(sfen) - strpos(reverse(sfen), ' ')) as board, ply,
           cast(if(side = 'b', result, -result) as float) as z,
           cast(if(abs(cp) >= $threshold, sign(cp), tanh(cp / (2 * $eval_coef))) as float) as q,
           struct_pack(mv := cand, cp := cand_cp) as search
    from read_parquet($corpus)),

  boards as (
    select board, min(ply) as ply, avg(z) as value_z, avg(q) as value_q, count(*) as weight,
           list(search) as searches
    from searches group by board),

  -- one search: its candidates are the row's
  single as (
    select board, ply, value_z, value_q, weight,
           searches[1].mv as moves, cast(searches[1].cp as double[]) as scores
    from boards where weight = 1),

  -- several: the mean of each move over the searches that list it
  listed as (
    select * exclude (search), unnest(search.mv) as mv, unnest(search.cp) as cp
    from (select * exclude (searches), unnest(searches) as search from boards where weight > 1)),
  means as (
    select board, mv, avg(cp) as cp, any_value(ply) as ply,
           any_value(value_z) as value_z, any_value(value_q) as value_q, any_value(weight) as weight
    from listed group by board, mv),
  several as (
    select board, any_value(ply) as ply,
           any_value(value_z) as value_z, any_value(value_q) as value_q, any_value(weight) as weight,
           list(mv) as moves, list(cp) as scores
    from means group by board),

  tops as (
    select *, list_max(scores) as top from (from single union all from several)),
  -- where a mate leads, the lowest of the moves that share the top takes all
  leaders as (
    select *, if(abs(top) >= $threshold,
                 list_min(list_transform(list_zip(moves, scores),
                                         lambda c: if(c[2] = top, move16(c[1]), 65535))),
                 null) as leader
    from tops),
  shares as (
    select *, if(leader is null,
                 list_transform(scores, lambda s: exp((s - top) / $temperature)),
                 list_transform(moves, lambda m: cast(move16(m) = leader as double))) as shares
    from leaders),
  totals as (
    select *, list_sum(shares) as total from shares)

  select board, cast(ply as usmallint) as ply,
         cast(value_z as float) as value_z, cast(value_q as float) as value_q,
         cast(weight as uinteger) as weight,
         list_transform(list_zip(moves, shares, scores), lambda c: struct_pack(
           mv := c[1],
           prob := cast(c[2] / total as float),
           cp := cast(round(c[3]) as smallint))) as candidates
  from totals order by hash(board)
) to $out (format parquet, compression zstd, compression_level 1, row_group_size 8192)
