/** What the notes of a release with simulator.enabled tell to type, without the watch and what leads into a Pod. */
export const commandsInNotes = (notes: string): string =>
  notes.slice(notes.indexOf('kubectl create secret'), notes.indexOf('kubectl get gpui -w'));
