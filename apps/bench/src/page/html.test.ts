import { expect, it } from 'vitest';
import { attributes, html } from './html';

it('escapes what is put in, and nothing twice', () => {
  const inner = html`<b>${'<script>alert("1") & \'2\'</script>'}</b>`;
  expect(
    html`<p${attributes({ title: '">', n: 3, none: undefined })}>${inner}${[1, '<']}${undefined}</p>`.text,
  ).toBe(
    '<p title="&#34;&#62;" n="3"><b>&#60;script&#62;alert(&#34;1&#34;) &#38; &#39;2&#39;&#60;/script&#62;</b>1&#60;</p>',
  );
});

it('shows characters that no document may hold', () => {
  expect(html`${'a\u0000b\u0007\u202ec\ud800'}`.text).toBe('a␀b␇�c�');
});
