// Made-up player scripts in the layouts that YouTube's has had, well-behaved ones and hostile ones, each with its
// solutions to challenges (fact sheet, section 1: the example script, and what an extractor relies on). Runs in the
// fake server's process.

export interface PlayerScript {
  /** Eight hexadecimal digits. */
  readonly id: string;
  readonly text: string;
  readonly solveN: (n: string) => string;
  /** The locked text that the script turns into `signature`. */
  readonly lock: (signature: string) => string;
}

const TIMESTAMP = 20_777;

interface Pieces {
  /** Statement that replaces `n` in `this.q`. */
  readonly solveN: string;
  /** Body of a function of `a`. */
  readonly unlock: string;
  /** Before everything else, and after it. */
  readonly before?: string;
  readonly after?: string;
}

/** Two statements, as in the builds for browsers. */
function twoStatements({ solveN, unlock, before = "", after = "" }: Pieces): string {
  return `var _yt_player={};(function(g){var window=this;${before}
var cfg=function(){return {signatureTimestamp:${TIMESTAMP}}};
g.Uri=function(a){this.q={};this.base=a};g.k=g.Uri.prototype;
g.k.get=function(a){return this.q[a]};g.k.set=function(a,b){this.q[a]=b;return this};
g.k.clone=function(){return new g.Uri(this.base)};
g.k.Kx=function(){var n=this.q.n;if(n){${solveN}}};
var f=function(a){${unlock}};
g.boot(document.body.firstChild.offsetWidth);
var Nx=function(a,b,c){b=b===void 0?"":b;a=new g.Uri(a,!0);a.set("alr","yes");
c&&a.set(b,encodeURIComponent(f(decodeURIComponent(c))));return a};${after}
})(_yt_player);`;
}

/** One strict-mode statement, with a class and a method in place of a variable. */
function oneStatement({ solveN, unlock }: Pieces): string {
  return `(function(){'use strict';var window=this,g={};var conf={sts:${TIMESTAMP + 1}};
class Uri{constructor(a){this.q=new Map;this.base=a}get(a){return this.q.get(a)}set(a,b){this.q.set(a,b)}
ZZ(){let n=this.q.get("n");if(n===undefined)return;${solveN}}}
window.addEventListener("load",function(){});
g.f=function(a){${unlock}};
g.Ab=function(a,b="",c=""){const d=new Uri(a);d["set"]("alr","yes");
if(c){d.set(b,encodeURIComponent(g.f(decodeURIComponent(c))))}return d};
}).call(this);`;
}

const reversed = (text: string): string => text.split("").reverse().join("");
const REVERSING: Pieces = {
  solveN: 'this.q.n=n.split("").reverse().join("")',
  unlock: 'return a.split("").reverse().join("")',
};

/** The current script. */
export const REVERSE_SCRIPT: PlayerScript = {
  id: "0badcafe",
  text: twoStatements(REVERSING),
  solveN: reversed,
  lock: reversed,
};

/** The next day's: another layout, other transforms. */
export const ROTATE_SCRIPT: PlayerScript = {
  id: "1badcafe",
  text: oneStatement({
    solveN: 'n=n.slice(3)+n.slice(0,3);this.q.set("n",n.replace(/[a-z]/g,function(c){return c.toUpperCase()}))',
    unlock: 'a=a.split("");var c=a[0];a[0]=a[4];a[4]=c;a.push(a.shift());return a.join("")',
  }),
  solveN: (n) => (n.slice(3) + n.slice(0, 3)).toUpperCase(),
  lock: (signature) => {
    const parts = signature.split("");
    parts.unshift(parts.pop()!); // a signature is not empty
    [parts[0], parts[4]] = [parts[4]!, parts[0]!]; // nor shorter than five
    return parts.join("");
  },
};

/** As in 2021: the class has no method for the challenge, which is solved when it is read. */
export const LAZY_SCRIPT: PlayerScript = {
  ...REVERSE_SCRIPT,
  id: "2badcafe",
  text: REVERSE_SCRIPT.text
    .replace(/g\.k\.Kx=.*/, "var solve=function(n){return n.split('').reverse().join('')};")
    .replace("{return this.q[a]}", '{var v=this.q[a];return a==="n"&&v?solve(v):v}'),
};

/** With values that can be made only where what acts is not cut out: `boot` would have added the method. */
export const SINGLETON_SCRIPT: PlayerScript = {
  ...REVERSE_SCRIPT,
  id: "3badcafe",
  text: REVERSE_SCRIPT.text.replace(
    "g.boot(",
    "var One=function(){},one=One.getInstance(),two=2;g.one=new one.Kind;g.boot(",
  ),
};

/** Each would harm the node without the sandbox. */
export const HOSTILE_SCRIPTS = {
  "loops endlessly when it is read": hostile({ before: "for(;;){}" }),
  "loops endlessly when it solves": hostile({ solveN: "for(;;){}" }),
  "takes all memory when it is read": hostile({ before: "var m=[];for(;;)m.push(new Array(1e5).fill(m))" }),
  "takes all memory when it solves": hostile({ solveN: 'var s="x";for(;;)s+=s+n' }),
  "calls itself without end": hostile({ solveN: "var r=function(){return r()+r()};this.q.n=r()" }),
  "never ends a regular expression": hostile({ solveN: 'this.q.n=/^(a+)+$/.test("a".repeat(60)+"!")+""' }),
  "answers a megabyte": hostile({ solveN: 'this.q.n="x".repeat(1<<20)' }),
  "answers the question": hostile({ solveN: "this.q.n=n" }),
  "answers its own failure": hostile({ solveN: 'this.q.n="enhanced_except_4ZMBqu-_w8_"+n' }),
  "returns no text": hostile({ solveN: "this.q.n={toString:function(){for(;;);}}" }),
  "changes the language": hostile({
    before: 'JSON.stringify=function(){return "}"};Object.getPrototypeOf=function(){return{}};Set=Map=Array=null;',
  }),
  "returns no JSON": hostile({ before: 'JSON.stringify=function(){return "}"};' }),
  "throws at once": hostile({ before: 'throw new Error("out of order");' }),
  "throws no Error": hostile({ solveN: "throw {get message(){for(;;);}}" }),
  "has two functions that disagree": hostile({
    after:
      'var Ny=function(a,b,c){a=new g.Uri(a);a.set("alr","yes");g.k.Kx=function(){this.q.n=Math.random()+""}' +
      ";return a};",
  }),
  "has no function that unlocks": script(
    "var _yt_player={};(function(g){var c={sts:20777};g.x=function(){}})(_yt_player);",
  ),
  "is no script": script("<!doctype html><p>sts:20777 was here"),
  "is nested too deeply": script(`(function(){var sts={sts:20777};${"[".repeat(200_000)}})()`),
} as const satisfies Record<string, PlayerScript>;

/** Tries everything that scripts can reach outside of a sandbox, and reports in `n` what it reached. */
export const CURIOUS_SCRIPT: PlayerScript = hostile({
  solveN: `var seen=[];
["process","require","module","fetch","Buffer","WebAssembly","setTimeout","URL","Deno","Worker","postMessage",
  "SharedArrayBuffer","Atomics","performance"].forEach(function(name){if(typeof globalThis[name]!=="undefined")seen.push(name)});
var F=[].filter.constructor;
try{if(F("return typeof process")()!=="undefined")seen.push("F-process")}catch(e){}
try{if((async function(){}).constructor("return typeof require")()==="")seen.push("A")}catch(e){}
try{var o=arguments.callee&&arguments.callee.caller;o&&o.constructor("return process")()&&seen.push("caller")}catch(e){}
try{if(F("return this")()!==globalThis)seen.push("other-global")}catch(e){}
try{import("node:fs").then(function(){seen.push("import")})}catch(e){}
[Date,new Date().constructor,Object.getPrototypeOf(new Date()).constructor].forEach(function(D){var t=D.now(),d=+new D();
  for(var i=0;i<5e4;i++)if(D.now()!==t||+new D()!==d){seen.push("clock");break}});
if(new Uint8Array([257])[0]!==1||new DataView(new ArrayBuffer(8)).getInt8(0)!==0)seen.push("no-bytes");
if(new Date(2020,0,1).getFullYear()!==2020||Date.parse("1970-01-01")!==0||Date.UTC(1970,0)!==0)seen.push("no-dates");
if(!(new Date() instanceof Date)||typeof Date()!=="string"||+new Date()<1e12)seen.push("odd-dates");
this.q.n=seen.length===0?"nothing-found":"found-"+seen.join("-")`,
});

function hostile(pieces: Partial<Pieces>): PlayerScript {
  return script(twoStatements({ ...REVERSING, ...pieces }));
}

function script(text: string): PlayerScript {
  return { id: "deadbeef", text, solveN: reversed, lock: reversed };
}
