import { pausingCommand } from '../objects/pausing.ts';

/** Stops renting and replacing; what runs goes on running and billing. */
export const pauseCommand = pausingCommand({
  name: 'pause',
  paused: true,
  summary: 'Rent and replace nothing for an object; what runs goes on.',
  description:
    'A paused object is still watched and still deleted, and its machine still bills: to stop a machine, set powerState: Stopped. A paused group changes its workers in neither direction.',
});
