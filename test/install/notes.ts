/**
 * Returns the commands in the notes of a release with simulator.enabled, without the watch and commands inside a Pod.
 */
export const commandsInNotes = (notes: string): string =>
  notes.slice(notes.indexOf('kubectl create secret'), notes.indexOf('kubectl get gpui -w'));
