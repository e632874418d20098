/** What threads have not finished. One thread can. */
export class ThreadsFailed extends Error {}
