import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { findTensorFlow } from '../../../../scripts/backends/tensorflow';
import { runCommandLine } from './command-line';

async function run(...args: string[]) {
  const written = { out: '', error: '' };
  const code = await runCommandLine(args, {
    terminal: { width: 80, color: false },
    progress: { stage: () => {}, advance: () => {}, clear: () => {} },
    print: (lines) => {
      written.out += lines.join('\n');
    },
    write: (text) => {
      written.out += text;
    },
    printError: (text) => {
      written.error += text;
    },
  });
  return { code, ...written };
}

describe('runCommandLine', () => {
  it('explains itself', async () => {
    const { code, out } = await run('--help');
    expect(code).toBe(0);
    for (const word of [
      '--backend',
      '--quick',
      '--json',
      'attention',
      'plan',
      'backends',
      'gates',
      'full',
      'compare',
      'head-count',
    ])
      expect(out).toContain(word);
    for (const word of ['--variant', '--cache', '--shape', '--tokens', '--batch', '--position'])
      expect(out).toContain(word);
  });

  it('compares two results, and ends with 1 where anything became slower', async () => {
    const sample = fileURLToPath(new URL('../matrix/fixtures/sample.json', import.meta.url));
    const same = await run('compare', sample, sample);
    expect(same).toMatchObject({ code: 0, error: '' });
    const folder = mkdtempSync(join(tmpdir(), 'polyhead-'));
    const slower = join(folder, 'slower.json');
    const { cells, ...rest } = JSON.parse(readFileSync(sample, 'utf8'));
    for (const name of ['p10', 'p25', 'median', 'p75', 'p90']) cells[0].time[name] *= 2;
    writeFileSync(slower, JSON.stringify({ ...rest, cells }));
    const other = await run('compare', sample, slower);
    const bounded = await run('compare', sample, slower, '--bound', '150');
    const [first, ...others] = cells;
    const absent = [{ ...first, why: 'wrong', reason: 'off by 1' }];
    writeFileSync(slower, JSON.stringify({ ...rest, cells: others, absent }));
    const wrong = await run('compare', sample, slower);
    writeFileSync(slower, JSON.stringify({ ...rest, cells: [] }));
    const none = await run('compare', sample, slower);
    rmSync(folder, { recursive: true });
    expect(wrong).toMatchObject({ code: 1, error: 'bench: 1 cell is wrong now' });
    expect(none).toMatchObject({ code: 2, error: expect.stringContaining('no cell in common') });
    expect(other.out).toContain('2.00 ×');
    expect(other).toMatchObject({ code: 1, error: 'bench: 1 cell is slower by more than 10 %' });
    expect(bounded).toMatchObject({ code: 0, error: '' });
  });

  it('writes a plan for other programs alone to the terminal', async () => {
    const { code, out, error } = await run('plan', 'Mistral 7B', '--json', '-');
    expect([code, error]).toEqual([0, '']);
    const { parameters, cache } = JSON.parse(out);
    expect(parameters.attention).toBe(32 * 41_943_040);
    expect(cache.bytesPerToken.float16).toBe(131_072);
  });

  it.each([
    [['plan', 'Mistral 7B', '--json', 'no/such/folder/file.json'], 'there is no folder'],
    [['--backend', 'nonsense'], 'Allowed choices are tensorflow, wasm, cpu'],
    [
      ['attention', 'a whale', '--layer', '3'],
      '--layer 3: Universal Sentence Encoder Lite has layers 1 to 2',
    ],
    [['attention', 'a whale', '--layer', '0'], 'Allowed are whole numbers from 1'],
    [['attention', 'a whale', '--quick'], "unknown option '--quick'"],
    [
      ['attention', 'a whale', '--from', 'sea'],
      '--from: “sea” is no word of the text, whose words are: a whale',
    ],
    [['attention', 'a whale', '--beside', ''], 'the text is empty'],
    [['attention', 'a whale', '--model', 'gpt-9'], 'there is no model gpt-9'],
    [['attention', 'a whale', '--svg', 'no/such/folder/file.svg'], '--svg: there is no folder'],
    [['attention', 'a whale', '--html', '.'], '--html: '],
    [['attention', 'a whale', '--html', '/proc/version/a.html'], '/proc/version/a.html cannot be written: '],
    [['attention', 'a whale', '--html', ''], '--html: the path is empty'],
    [['--quick', 'attention', 'a whale'], '--quick goes after attention'],
    [['--quick', 'plan', 'bert-base'], '--quick goes after plan'],
    [['--json', 'gates.json', 'gates'], '--json goes after gates'],
    [['gates', '--only', 'quantum'], 'no work is named so; there are:'],
    [['backends', '--json', 'no/such/folder/file.json'], 'there is no folder'],
    [['gates', '--threads', '0'], 'Allowed are whole numbers from 1 to'],
    [['gates', '--json', 'no/such/folder/file.json'], 'there is no folder'],
    [['train', '--only', 'gqa'], 'Allowed choices are multi-head, grouped-4, grouped-2, multi-query, none'],
    [['train', '--steps', '9'], 'Allowed are whole numbers from 10'],
    [['train', '--json', 'no/such/folder/file.json'], 'there is no folder'],
    [
      ['--variant', 'grouped-8,gqa'],
      'Allowed choices are multi-head, grouped-8, grouped-6, grouped-4, grouped-2, multi-query',
    ],
    [
      ['--cache', 'virtual'],
      'Allowed choices are growing, ring, paged, quantized-8, quantized-4, kivi-4, static',
    ],
    [['--shape', 'gpt-4'], 'Allowed choices are gpt-2, width-512, llama-2-7b'],
    [['--tokens', '0'], 'Allowed are whole numbers from 32 to 4,096'],
    [['--batch', '2'], 'Allowed choices are 1, 4'],
    [
      ['--position', 'rotary,rope'],
      'Allowed choices are rotary, alibi, t5, shaw, bertRelative, transformerXL, deberta',
    ],
    [['--position', 'rotary', '--tokens', '64'], '--position is a comparison of its own'],
    [
      ['--shape', 'gpt-2', '--variant', 'grouped-8'],
      'choose from multi-head, grouped-6, grouped-4, grouped-2, multi-query',
    ],
    [
      ['--tokens', '4096', '--batch', '4', '--shape', 'llama-2-7b', '--backend', 'wasm'],
      'choose fewer of --tokens',
    ],
    [['model', 'gpt-9'], 'there is no model gpt-9: give moby-dick, smollm2, annalog, or the path'],
    [['model', '--tokens', '0'], 'Allowed are whole numbers from 1'],
    [['model', '--prompt', ''], '--prompt is empty'],
    [['model', '.'], 'has no config.json and no tokenizer.json and no model.safetensors'],
    [['model', 'package.json'], 'is no .gguf file'],
    [['--quick', 'model'], '--quick goes after model'],
    [['plan'], 'give a model, the path of a config.json, or --embed-dim and --heads'],
    [['plan', 'bert-tiny'], 'models: BERT-base, BERT-large'],
    [['plan', '--heads', '-3'], 'Allowed are whole numbers from 1 to 1,048,576'],
    [['plan', '--context', '1e9'], 'Allowed are whole numbers from 1 to 1,073,741,824'],
    [['plan', 'bert-base', '--memory', '8'], '8GB'],
    [['plan', '--embed-dim', '100', '--heads', '7'], 'heads must divide the width'],
    [['plan', 'bert-base', 'gpt-2'], 'too many arguments'],
    [['--fast'], "unknown option '--fast'"],
    [['--quik'], 'Did you mean --quick?'],
    [['atention', 'a whale'], 'there is no command atention: there are attention, '],
    [['attention'], "missing required argument 'text'"],
    [['compare'], "missing required argument 'before'"],
    [['compare', 'none.json', 'none.json'], 'none.json cannot be read'],
    [['compare', 'package.json', 'package.json'], 'package.json is no result of bench'],
    [['compare', 'a', 'b', '--bound', '-1'], 'Allowed are percentages'],
    [['full', '--json', 'no/such/folder/file.json'], 'there is no folder'],
    [['full', '--json', 'package.json'], 'package.json is no result of bench'],
    [['full', '--backend', 'quantum'], 'Allowed choices are tensorflow, wasm, cpu'],
    [['head-count', '--width', '0'], 'Allowed are whole numbers from 2 to 2,048'],
    [['head-count', '--width', '7'], '--width 7 does not divide into 2 heads'],
    [['head-count', '--json', '.'], 'is a folder'],
    [['--json', '\x1b[31m/x'], 'there is no folder'],
    [['--json', 'no/such/folder/file.json'], 'there is no folder'],
    [['--json', '.'], 'is a folder'],
    [['--json', 'one.file', '--html', 'one.file'], '--json and --html are one file: '],
    [['attention', 'a whale', '--svg', 'a.file', '--html', './a.file'], '--svg and --html are one file: '],
    [['--html', 'no/such/folder/page.html'], '--html: there is no folder'],
    [
      ['--html', 'page.html', '--position', 'rotary'],
      '--position is a comparison of its own, which does not take --html',
    ],
    [['--quick', '--html', '/proc/version/page.html'], 'cannot be written'],
  ])('answers %j with 2 and says what would do', async (args, message) => {
    const { code, out, error } = await run(...args);
    expect(error).toContain(message);
    expect(error).toMatch(/^bench: \P{C}*$/u); // one line, without escapes
    expect(out).toBe('');
    expect(code).toBe(2);
  });
});

describe('the program', () => {
  const bench = (...args: string[]) => {
    const command = ['--conditions=@polyhead/source', '--import', 'tsx', 'src/main.ts', ...args];
    const cwd = fileURLToPath(new URL('../..', import.meta.url));
    return spawnSync(process.execPath, command, { cwd, env: { PATH: process.env.PATH }, encoding: 'utf8' });
  };

  const intoShell = (tail: string) => {
    const command = `"${process.execPath}" --conditions=@polyhead/source --import tsx src/main.ts ${tail}`;
    const cwd = fileURLToPath(new URL('../..', import.meta.url));
    return spawnSync('sh', ['-c', command], { cwd, env: { PATH: process.env.PATH }, encoding: 'utf8' });
  };

  it.skipIf(!existsSync('/dev/full'))('says in one line that a disk is full', { timeout: 60_000 }, () => {
    const printed = intoShell('plan bert-base > /dev/full');
    expect(printed.stderr).toMatch(/^bench: the output cannot be written: ENOSPC.*\n$/);
    expect(printed.status).toBe(2);
    const written = intoShell('plan bert-base --json /dev/full');
    expect(written.stderr).toMatch(/^bench: \/dev\/full cannot be written: ENOSPC.*\n$/);
    expect(written.status).toBe(2);
  });

  it('keeps its exit code where nobody reads its messages', { timeout: 30_000 }, () => {
    const { stdout } = intoShell('plan no-such-model 2>&1 >/dev/null; echo $?');
    expect(stdout).toMatch(/\n2\n$/);
    const unread = intoShell('plan no-such-model 2>&- ; echo $?');
    expect(unread.stdout).toBe('2\n');
  });

  it('plans at once, without a backend', { timeout: 30_000 }, () => {
    const { status, stdout, stderr } = bench('plan', 'llama-3 8b', '--memory', '8GB');
    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect(stdout).toMatch(
      /^LLaMA-3 8B: 32 attention layers, 4,096 wide, 32 heads × 128, 8 key\/value heads\n/,
    );
    expect(stdout).toMatch(/\nin 8GB +30,517 tokens/);
  });

  it('draws a sentence, plainly into a pipe', { timeout: 30_000 }, () => {
    const { status, stdout, stderr } = bench('attention', 'The bank by the river was flooded.');
    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^What the heads of layer 2 see in “The bank by the river was flooded\.”\n/);
    expect(stdout).not.toContain('\x1b');
  });

  it('says why a backend asked for does not run', { timeout: 30_000 }, ({ skip }) => {
    const tensorflow = findTensorFlow();
    if ('path' in tensorflow) return skip('every backend runs here');
    const { status, stdout, stderr } = bench('attention', 'a whale', '--backend', 'tensorflow');
    expect(stderr).toBe(`bench: backend tensorflow does not run here: ${tensorflow.reason}\n`);
    expect(stdout).toBe('');
    expect(status).toBe(2);
  });

  it('exits 2 with one line for a text with nothing to see', { timeout: 30_000 }, () => {
    const { status, stdout, stderr } = bench('attention', '😀');
    expect(stderr).toBe("bench: nothing in the text is in the model's vocabulary: it reads English\n");
    expect(stdout).toBe('');
    expect(status).toBe(2);
  });
});
