-- A USI move as the number by which the fold breaks ties: to, from (or the piece dropped), promotion.
create macro field(file, rank) as (9 - cast(file as integer)) * 9 + ascii(rank) - ascii('a');
create macro move16(usi) as
  field(usi[3], usi[4])
  + 128 * if(usi[2] = '*', 80 + strpos('PLNSGBR', usi[1]), field(usi[1], usi[2]))
  + 16384 * cast(usi[5] = '+' as integer);
