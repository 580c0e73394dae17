/**
 * Preloaded into the processes of a demo or a bench (`--import`): their parent holds the other end of descriptor 3,
 * which closes when the parent goes, however it goes. The operator itself knows nothing of this.
 */
import { Socket } from 'node:net';

const LIFELINE_FD = 3;

const lifeline = new Socket({ fd: LIFELINE_FD, readable: true, writable: false });
lifeline.on('error', () => {});
lifeline.on('close', () => process.kill(process.pid, 'SIGTERM'));
lifeline.resume();
lifeline.unref();
