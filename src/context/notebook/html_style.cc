// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/html_style.h"

namespace glovebox::notebook {

// Pictures keep a white ground in the dark, since plots are drawn for paper. Grounds of terminal
// colours are tints, on which all of the colours can be read; inverse text has the colour itself.
std::string_view page_style() {
  return R"css(
:root{color-scheme:light dark;--page:#fbfbfa;--paper:#fff;--text:#1f2328;--soft:#667080;--line:#e3e5e9;
--code:#f4f5f7;--accent:#2463a6;--in:#2463a6;--out:#a04b12;--bad:#b3261e;--bad-ground:#fdf1f0;
--k:#8a2be2;--s:#0b6e4f;--n:#a04b12;--c:#7a828e;--m:#1f5fa8;--d:#9a5b00;--l:#a8326b;--stripe:#f7f8fa;
--a0:#24292f;--a1:#c4302b;--a2:#117a3d;--a3:#8a6100;--a4:#1f5fbf;--a5:#8b3fb0;--a6:#0f7480;--a7:#6e7781;
--a8:#57606a;--a9:#d73a33;--a10:#1a8f4a;--a11:#a57400;--a12:#2f7de1;--a13:#a855c7;--a14:#1a919e;--a15:#8c959f}
@media(prefers-color-scheme:dark){:root{--page:#14171c;--paper:#1a1e24;--text:#dfe3e8;--soft:#8d96a3;
--line:#2c323b;--code:#20252d;--accent:#7db4f0;--in:#7db4f0;--out:#e5a06c;--bad:#ff8b82;--bad-ground:#2c1b1c;
--k:#c99bf5;--s:#7fd1a8;--n:#e5a06c;--c:#838c99;--m:#86b8f2;--d:#dcb061;--l:#f09bbf;--stripe:#1f242b;
--a0:#8b949e;--a1:#ff7b72;--a2:#5fce85;--a3:#d9a83a;--a4:#79b0ff;--a5:#d3a0f5;--a6:#5fcbd6;--a7:#c4cbd3;
--a8:#6e7781;--a9:#ffa198;--a10:#7ee2a0;--a11:#e8c465;--a12:#a5cbff;--a13:#e2c0fa;--a14:#8fe0e8;--a15:#f0f3f6}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--text);
font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
pre,code,kbd,samp,.prompt{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
font-size:13.5px;line-height:1.5}
main{max-width:64rem;margin:0 auto;padding:1.5rem 1.25rem 4rem}
header{display:flex;flex-wrap:wrap;align-items:baseline;gap:.25rem 1rem;padding-bottom:.75rem;
margin-bottom:1.25rem;border-bottom:1px solid var(--line)}
header .title{font-size:1.05rem;font-weight:600;overflow-wrap:anywhere}
header .kernel{margin-left:auto;color:var(--soft);font-size:.85rem}
.cell{display:grid;grid-template-columns:4.25rem minmax(0,1fr);column-gap:.75rem;margin:.9rem 0}
.prompt{color:var(--soft);text-align:right;padding-top:.62rem;font-size:12px;user-select:none}
.prompt.in{color:var(--in)}.prompt.out{color:var(--out);padding-top:.35rem}
pre{margin:0;white-space:pre-wrap;overflow-wrap:anywhere}
.code{background:var(--code);border:1px solid var(--line);border-left:3px solid var(--accent);border-radius:6px;
padding:.55rem .8rem;white-space:pre;overflow-wrap:normal;overflow-x:auto}
.markdown .code{border-left-width:1px;margin:.8rem 0}
.raw{background:none;border:1px dashed var(--line);border-radius:6px;padding:.55rem .8rem;color:var(--soft)}
.output{min-width:0;padding:.3rem 0;overflow-x:auto}
.stream{padding:.15rem .8rem;max-height:36rem;overflow:auto}
.stream.stderr{border-left:3px solid var(--out);background:var(--code);border-radius:0 6px 6px 0;padding:.4rem .8rem}
.error{background:var(--bad-ground);border:1px solid var(--bad);border-radius:6px;padding:.6rem .8rem;
max-height:48rem;overflow:auto}
.error strong{color:var(--bad)}
.plain{padding:.05rem .8rem}
.markdown{overflow-wrap:anywhere}
.markdown>:first-child{margin-top:0}.markdown>:last-child{margin-bottom:0}
h1,h2,h3,h4,h5,h6{line-height:1.25;margin:1.4em 0 .5em;font-weight:650}
h1{font-size:1.9rem}h2{font-size:1.45rem;padding-bottom:.2em;border-bottom:1px solid var(--line)}
h3{font-size:1.2rem}h4,h5,h6{font-size:1rem}
p,ul,ol{margin:.7em 0}li{margin:.2em 0}
a{color:var(--accent)}
code{background:var(--code);border-radius:4px;padding:.12em .35em}
pre code{background:none;padding:0}
blockquote{margin:.8em 0;padding:.1em 1em;border-left:3px solid var(--line);color:var(--soft)}
hr{border:0;border-top:1px solid var(--line);margin:1.5em 0}
img{max-width:100%;height:auto;border-radius:4px}
.output img,.markdown img{background:#fff}
.output>img{display:block;margin:.25rem 0}
.absent{color:var(--soft);font-style:italic}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums;margin:.4rem 0}
th,td{padding:.32rem .7rem;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600;text-align:left}
thead th{border-bottom:2px solid var(--line);white-space:nowrap}
.dataframe td,.dataframe th{text-align:right;white-space:nowrap}
.dataframe tbody th{color:var(--soft);font-weight:500}
tbody tr:nth-child(even){background:var(--stripe)}
tbody tr:hover{background:var(--code)}
.html p{color:var(--soft);font-size:.85rem;margin:.3rem 0}
caption{caption-side:top;text-align:left;color:var(--soft);padding:.2rem 0}
.right{text-align:right}.middle{text-align:center}
.json{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:13px;padding:.1rem .8rem}
.json details>div,.json details>details{margin-left:1.3rem}
.json b{font-weight:600;color:var(--m)}.json small{color:var(--soft)}summary{cursor:pointer}
math{font-size:1.08em;font-family:math,"Latin Modern Math","STIX Two Math","Cambria Math",serif}
math[display=block]{margin:.7em 0;overflow-x:auto;overflow-y:hidden;padding:.15em 0}
mtd{padding:.25em .35em;border:0}mtd.right{text-align:right;padding-right:.1em}mtd.left{text-align:left}
mtd.right+mtd.left{padding-left:0}
mrow.bold{font-weight:bold}mrow.boxed{border:1px solid;padding:.3em}
.k{color:var(--k)}.s{color:var(--s)}.n{color:var(--n)}.c{color:var(--c);font-style:italic}.m{color:var(--m)}
.d{color:var(--d)}.l{color:var(--l)}
.b{font-weight:700}.f{opacity:.7}.i{font-style:italic}.u{text-decoration:underline}
.x{text-decoration:line-through}
[class*=bg]{background:color-mix(in srgb,var(--g) 30%,var(--paper))}
.fgpage{color:var(--paper);background:var(--g,var(--text))}
.fg0{color:var(--a0)}.bg0{--g:var(--a0)}.fg1{color:var(--a1)}.bg1{--g:var(--a1)}.fg2{color:var(--a2)}.bg2{--g:var(--a2)}.fg3{color:var(--a3)}.bg3{--g:var(--a3)}
.fg4{color:var(--a4)}.bg4{--g:var(--a4)}.fg5{color:var(--a5)}.bg5{--g:var(--a5)}.fg6{color:var(--a6)}.bg6{--g:var(--a6)}.fg7{color:var(--a7)}.bg7{--g:var(--a7)}
.fg8{color:var(--a8)}.bg8{--g:var(--a8)}.fg9{color:var(--a9)}.bg9{--g:var(--a9)}.fg10{color:var(--a10)}.bg10{--g:var(--a10)}.fg11{color:var(--a11)}.bg11{--g:var(--a11)}
.fg12{color:var(--a12)}.bg12{--g:var(--a12)}.fg13{color:var(--a13)}.bg13{--g:var(--a13)}.fg14{color:var(--a14)}.bg14{--g:var(--a14)}.fg15{color:var(--a15)}.bg15{--g:var(--a15)}
@media(max-width:40rem){.cell{grid-template-columns:minmax(0,1fr)}.prompt{text-align:left;padding:.2rem 0}
.prompt:empty{display:none}}
@media print{body{background:#fff;font-size:11pt}main{max-width:none;padding:0}.stream,.error{max-height:none}
.code,pre{white-space:pre-wrap}.cell{break-inside:auto}img,tr,.error{break-inside:avoid}h1,h2,h3{break-after:avoid}}
)css";
}

}  // namespace glovebox::notebook
