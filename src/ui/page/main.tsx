import { render } from 'preact';
import { App, onKey, showTheme } from './app.tsx';
import { followLocation } from './location.ts';
import { tick } from './store.ts';
import { followStream, openSession } from './stream.ts';

showTheme();
openSession();
followLocation();
followStream();
setInterval(tick, 1_000);
document.addEventListener('keydown', onKey);
const root = document.getElementById('app');
if (root) {
  root.replaceChildren();
  render(<App />, root);
}
