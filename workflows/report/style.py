"""The style sheets of plots and of the page. Colours are named once, and follow the reader's light or dark scheme."""

PLOTS = """
:root { color-scheme: light dark; --paper: #f7f6f2; --card: #ffffff; --ink: #1c2128; --soft: #59626d;
  --rule: #dddad1; --grid: #ebe9e2; --s0: #727b87; --s1: #2a5f9e; --s2: #b4561a; --s3: #1d7a58;
  --s4: #7a4fa3; --s5: #8a6a00; --s6: #17788a; --s7: #b03a7c; --warn: #b42318; --on: #ffffff; --band: #e0eaf5; --track: #f3f1ec }
@media (prefers-color-scheme: dark) { :root { --paper: #121519; --card: #1a1e24; --ink: #e5e8ec;
  --soft: #9da6b2; --rule: #323840; --grid: #282d35; --s0: #8f99a6; --s1: #7fb2ec; --s2: #eda267;
  --s3: #62c99d; --s4: #c0a3ec; --s5: #d8bd55; --s6: #6cc9d9; --s7: #ef97c4; --warn: #ff8d7d; --on: #101317; --band: #293a4d; --track: #20252b } }
svg.plot { display: block; width: 100%; height: auto; overflow: visible; font-variant-numeric: tabular-nums }
svg.plot text { fill: var(--ink) }
svg.plot .soft { fill: var(--soft) }
svg.plot .on { fill: var(--on) }
svg.plot .warned { fill: var(--warn); font-weight: 600 }
svg.plot .fw { fill: var(--warn) }
svg.plot .faint { opacity: .45 }
svg.plot .hollow { fill: none; stroke: var(--s3); stroke-dasharray: 3 2 }
svg.plot .band { fill: var(--band) }
svg.plot .track { fill: var(--track) }
svg.plot .grid { stroke: var(--grid) }
svg.plot .axis { stroke: var(--rule) }
svg.plot .mark { stroke: var(--ink); stroke-width: 1.5 }
svg.plot .curve { fill: none; stroke-width: 1.75; stroke-linejoin: round; stroke-linecap: round }
svg.plot .spread { opacity: .28 }
svg.plot .leader { stroke-width: 1; opacity: .5 }
svg.plot .mean { stroke: var(--s2); stroke-width: 1.5; stroke-dasharray: 4 3 }
svg.plot .mean-text { fill: var(--s2) }
"""
PLOTS += "".join(
    f"svg.plot .f{i} {{ fill: var(--s{i}) }}\nsvg.plot .c{i} {{ stroke: var(--s{i}) }}\n" for i in range(8)
)

PAGE = """
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.5;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif }
main { max-width: 1064px; margin: 0 auto; padding: 36px 22px 64px }
svg text { font-family: inherit }
.brand { margin: 0; font-size: 13px; font-weight: 600; letter-spacing: .06em; color: var(--soft);
  display: flex; gap: 8px }
.koma { width: 17px; height: 19px; fill: none; stroke: var(--s2); stroke-width: 1.6; stroke-linejoin: round }
.koma .fold { stroke-width: 1.2; stroke-dasharray: 2.4 2 }
h1 { margin: 6px 0 0; font-size: 34px; line-height: 1.15; letter-spacing: -.015em; overflow-wrap: anywhere }
h2 { margin: 0; font-size: 22px; letter-spacing: -.01em }
h3 { margin: 0; font-size: 17px; overflow-wrap: anywhere }
.about { margin: 6px 0 0; color: var(--soft) }
nav { margin-top: 14px; display: flex; flex-wrap: wrap; gap: 4px 18px }
a { color: var(--s1); text-underline-offset: 3px; text-decoration-thickness: 1px }
dl, dd { margin: 0 }
.keys { margin-top: 22px; display: flex; flex-wrap: wrap; gap: 1px; background: var(--rule);
  border: 1px solid var(--rule); border-radius: 10px; overflow: hidden }
.keys > div { flex: 1 1 auto; min-width: 112px; background: var(--card); padding: 14px 14px 13px }
.keys dt { font-size: 13px; color: var(--soft) }
.keys dd { font-size: 24px; font-weight: 650; line-height: 1.3; letter-spacing: -.015em; white-space: nowrap;
  font-variant-numeric: tabular-nums }
.keys .below { font-size: 12.5px; font-weight: 400; letter-spacing: 0; color: var(--soft) }
section { margin-top: 46px; scroll-margin-top: 16px }
.lead { margin: 4px 0 16px; max-width: 76ch }
.note { margin: 8px 0 0; font-size: 13px; color: var(--soft); max-width: 96ch }
figure { margin: 20px 0; padding: 16px 20px 12px; background: var(--card); border: 1px solid var(--rule);
  border-radius: 10px; overflow-x: auto }
figure > svg { min-width: 560px }
figcaption { margin-bottom: 8px; font-size: 13px; color: var(--soft) }
figcaption b { color: var(--ink); font-size: 14px; margin-right: 4px }
.three { display: grid; grid-template-columns: repeat(auto-fit, minmax(280px, 1fr)); gap: 24px;
  margin: 18px 0 10px }
.three figure { margin: 0; padding: 0; border: 0; overflow: visible; min-width: 0 }
.three figure > svg { min-width: 0 }
.wide { overflow-x: auto; margin: 14px 0 }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums }
th { text-align: left; font-weight: 500; color: var(--soft); white-space: nowrap; vertical-align: bottom }
th, td { padding: 6px 14px 6px 0; border-bottom: 1px solid var(--rule) }
td { vertical-align: top; white-space: nowrap }
td:last-child, th:last-child { padding-right: 0 }
.wide td:last-child { white-space: normal; overflow-wrap: anywhere; min-width: 88px }
td .more > summary { margin: 0 }
td b { font-weight: 600 }
.n { text-align: right }
tbody tr:hover { background: var(--track) }
code { font: 12px/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(190px, 1fr)); gap: 10px 20px;
  margin: 14px 0 4px }
.facts dt { font-size: 12.5px; color: var(--soft) }
.facts dd { font-weight: 600; font-variant-numeric: tabular-nums }
.n + :not(.n) { padding-left: 14px }
code[title], td [title] { cursor: help }
.card { margin: 16px 0; padding: 14px 20px 16px; background: var(--card); border: 1px solid var(--rule);
  border-radius: 10px }
.card > summary { display: flex; flex-wrap: wrap; gap: 2px 14px; align-items: baseline; cursor: pointer;
  list-style: none }
.card > summary::-webkit-details-marker { display: none }
.card > summary::before { content: "▸"; color: var(--soft); width: 12px }
.card[open] > summary::before { content: "▾" }
.card > summary span { color: var(--soft); font-variant-numeric: tabular-nums }
.card:not([open]) { padding: 9px 20px; margin: 8px 0 }
.more > summary { cursor: pointer; color: var(--s1); font-size: 13.5px; margin: 10px 0 }
.conventions { display: flex; flex-wrap: wrap; gap: 2px 20px; margin: 10px 0 0; font-size: 13px;
  color: var(--soft) }
.conventions b { color: var(--ink); font-weight: 600 }
.state::before { content: ""; display: inline-block; width: 9px; height: 9px; border-radius: 2px;
  margin-right: 7px; background: var(--s0) }
.state.f1::before { background: var(--s1) }
.state.f3::before { background: var(--s3) }
footer { margin-top: 48px; padding-top: 14px; border-top: 1px solid var(--rule); font-size: 13px;
  color: var(--soft) }
@media print { body { background: none } section { break-inside: auto } figure, tr { break-inside: avoid } }
"""
