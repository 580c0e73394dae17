/**
 * Whether the service gives back the label that a rental was sent with. `unknown` until the first rental of
 * the login was read back; until then, and where labels are not echoed, rentals are serial.
 */
export type LabelEcho = 'unknown' | 'echoed' | 'notEchoed';
