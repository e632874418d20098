import { ConfigError, type Span } from '@polyhead/core';

/** @throws ConfigError unless it is [from, to) of whole numbers, and holds something */
export function checkSpan(where: string, name: string, span: Span): void {
  const isPair = Array.isArray(span) && span.length === 2 && span.every(Number.isInteger);
  if (isPair && span[0] >= 0 && span[0] < span[1]) return;
  throw new ConfigError(where, `${name} must be [from, to] with 0 <= from < to, whole numbers`, {
    [name]: span,
  });
}
