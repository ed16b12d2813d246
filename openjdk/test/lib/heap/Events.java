// SPDX-License-Identifier: MIT OR Apache-2.0
package heap;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/** Events of the flight recorder. */
public final class Events {
    private Events() {}

    /** What the recording, in which events are enabled and which has not begun, has of some work. */
    public static List<RecordedEvent> of(Recording recording, Runnable work) throws IOException {
        recording.start();
        work.run();
        recording.stop();
        Path file = Path.of("events.jfr");
        recording.dump(file);
        return RecordingFile.readAllEvents(file);
    }
}
