/** One safety step removed or weakened, as a text patch of one production file. */
export interface Mutant {
  readonly name: string;
  /** What is lost, for the table. */
  readonly loses: string;
  /** Under `src/`. */
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Why the simulation cannot show it, in a sentence; absent where it can. */
  readonly unseen?: string;
}
