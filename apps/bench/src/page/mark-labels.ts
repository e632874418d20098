// Labels beside marks, each where it covers neither another label nor a mark.

interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export interface Mark {
  /** Of the mark. */
  readonly x: number;
  readonly y: number;
  /** Of its label, in pixels; 0 where it has none. */
  readonly width: number;
}

export interface LabelPlace {
  readonly x: number;
  /** Of the middle of the line. */
  readonly y: number;
  readonly anchor: 'start' | 'middle' | 'end';
}

const [reach, height, dot] = [9, 14, 6];

/** The first of right, left, above and below that is free and within the bounds; below where none is. */
export function placeLabels(marks: readonly Mark[], bounds: Box): LabelPlace[] {
  const taken: Box[] = marks.map(({ x, y }) => ({
    left: x - dot,
    right: x + dot,
    top: y - dot,
    bottom: y + dot,
  }));
  return marks.map((mark, n) => {
    const others = taken.filter((_, k) => k !== n);
    const isFree = ({ box }: Candidate) =>
      isWithin(box, bounds) && !others.some((other) => overlap(box, other));
    const all = candidates(mark);
    const chosen = all.find(isFree) ?? all.find(({ box }) => isWithin(box, bounds)) ?? all[0]!;
    if (mark.width > 0) taken.push(chosen.box);
    return chosen.place;
  });
}

interface Candidate {
  readonly place: LabelPlace;
  readonly box: Box;
}

function candidates({ x, y, width }: Mark): Candidate[] {
  const around = (place: LabelPlace, left: number): Candidate => ({
    place,
    box: { left, right: left + width, top: place.y - height / 2, bottom: place.y + height / 2 },
  });
  const beside = [0, -1, 1, -2, 2, -3, 3]
    .map((lines) => lines * height)
    .flatMap((down) => [
      around({ x: x + reach, y: y + down, anchor: 'start' }, x + reach),
      around({ x: x - reach, y: y + down, anchor: 'end' }, x - reach - width),
    ]);
  const over = [-height, height, -2 * height, 2 * height].map((down) =>
    around({ x, y: y + down, anchor: 'middle' }, x - width / 2),
  );
  return [...beside.slice(0, 2), ...over.slice(0, 2), ...beside.slice(2), ...over.slice(2)];
}

const isWithin = (box: Box, bounds: Box) =>
  box.left >= bounds.left &&
  box.right <= bounds.right &&
  box.top >= bounds.top &&
  box.bottom <= bounds.bottom;

const overlap = (a: Box, b: Box) =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
