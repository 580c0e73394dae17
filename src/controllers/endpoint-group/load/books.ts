import { EMPTY_BOOK, type LoadBook, type LoadProblem, type Report, withProblem, withReport } from './book.ts';
import type { LoadHistory } from './load-history.ts';

/** The load books of all groups in this process, by the uid of the group. */
export class LoadBooks {
  readonly #books = new Map<string, LoadBook>();

  get(uid: string): LoadBook {
    return this.#books.get(uid) ?? EMPTY_BOOK;
  }

  has(uid: string): boolean {
    return this.#books.has(uid);
  }

  /** Begins a book with what the status remembers; what was reported before is in it as well. */
  open(uid: string, maxima: LoadHistory['maxima']): void {
    const book = this.get(uid);
    const history = { ...book.history, maxima: [...maxima, ...book.history.maxima] };
    this.#books.set(uid, { ...book, history });
  }

  put(uid: string, book: LoadBook): void {
    this.#books.set(uid, book);
  }

  report(uid: string, report: Report): void {
    this.#books.set(uid, withReport(this.get(uid), report));
  }

  problem(uid: string, reporter: string, problem: LoadProblem): void {
    this.#books.set(uid, withProblem(this.get(uid), reporter, problem));
  }

  /** Work was seen otherwise than in a report. */
  active(uid: string, at: number): void {
    const book = this.get(uid);
    this.#books.set(uid, { ...book, lastActivity: Math.max(at, book.lastActivity ?? 0) });
  }

  forget(uid: string): void {
    this.#books.delete(uid);
  }
}
