// SVG documents one below the other, as one.

const gap = 16;

/** @param documents each with a `viewBox` that begins at 0, as those of `@polyhead/inspect` */
export function stackedSvg(documents: readonly string[]): string {
  if (documents.length === 1) return documents[0]!;
  const sizes = documents.map((svg) => {
    const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg)!;
    return { width: Number(width), height: Number(height) };
  });
  const width = Math.max(...sizes.map((size) => size.width));
  let height = -gap;
  const placed = documents.map((svg, n) => {
    const y = height + gap;
    height = y + sizes[n]!.height;
    return svg.replace('<svg ', `<svg y="${y}" `).trimEnd();
  });
  const attributes = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
  const background = '<rect width="100%" height="100%" fill="#ffffff"/>';
  return `<svg xmlns="http://www.w3.org/2000/svg" ${attributes}>\n${background}\n${placed.join('\n')}\n</svg>\n`;
}
