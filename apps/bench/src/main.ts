import { printUncaughtErrors } from '../../../scripts/backends/errors';
import { runCommandLine } from './command-line/command-line';
import { processOutlet } from './command-line/outlet';

printUncaughtErrors();
process.stderr.on('error', () => {}); // whoever reads no messages still gets the exit code
// `bench | head` closes the pipe early: that is no error.
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') process.exit(0);
  process.stderr.write(`bench: the output cannot be written: ${message.split(',')[0]}\n`, () =>
    process.exit(2),
  );
});
process.exitCode = await runCommandLine(process.argv.slice(2), processOutlet(process));
