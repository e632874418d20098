import { expect, it } from 'vitest';
import { placeLabels } from './mark-labels';

const bounds = { left: 0, top: 0, right: 300, bottom: 200 };

it('puts a label to the right, and to the left where the bounds end', () => {
  expect(placeLabels([{ x: 50, y: 50, width: 80 }], bounds)).toEqual([{ x: 59, y: 50, anchor: 'start' }]);
  expect(placeLabels([{ x: 280, y: 50, width: 80 }], bounds)).toEqual([{ x: 271, y: 50, anchor: 'end' }]);
});

it('covers neither marks nor labels that stand already', () => {
  const marks = [100, 130, 160, 190].map((x) => ({ x, y: 100, width: 90 }));
  const boxes = placeLabels(marks, bounds).map(({ x, y, anchor }) => {
    const left = { start: x, middle: x - 45, end: x - 90 }[anchor];
    return { left, right: left + 90, top: y - 7, bottom: y + 7 };
  });
  for (const [n, a] of boxes.entries()) {
    for (const b of boxes.slice(n + 1))
      expect(a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top).toBe(true);
    for (const { x, y } of marks) expect(x > a.left && x < a.right && y > a.top && y < a.bottom).toBe(false);
  }
});
