import { build } from 'esbuild'; import { gzipSync } from 'node:zlib';
const contents=`import { MultiHeadAttention } from '@polyhead/multi-head';
new MultiHeadAttention({ embedDim: 8, numHeads: 2 }).apply({ query: globalThis.x });`;
const r=await build({stdin:{contents,resolveDir:process.cwd(),sourcefile:'m.js'},bundle:true,minify:true,format:'esm',target:'es2022',external:['@tensorflow/*'],write:false,metafile:true,conditions:['@polyhead/source']});
console.log('total',r.outputFiles[0].contents.length,'gz',gzipSync(r.outputFiles[0].contents,{level:9}).length);
const o=Object.values(r.metafile.outputs)[0]; 
const base=gzipSync(r.outputFiles[0].contents,{level:9}).length;
const rows=Object.entries(o.inputs).map(([f,{bytesInOutput:b}])=>[b,f]).sort((a,b)=>b[0]-a[0]);
const dirs={}; for(const [b,f] of rows){const d=f.split('/').slice(0,-1).join('/');dirs[d]=(dirs[d]||0)+b}
console.table(dirs); for(const r of rows) console.log(r[0],r[1].replace('packages/',''));
