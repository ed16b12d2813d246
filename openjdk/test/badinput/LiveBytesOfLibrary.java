// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A heap in the memory of a malloc library does not count live bytes: the option is refused, not met by a crash in the first collection.
 * @requires vm.opt.ThirdPartyHeapPlugin ~= "malloc-.*"
 * @library /lib
 * @run main LiveBytesOfLibrary
 */

import heap.Check;
import heap.Child;

public class LiveBytesOfLibrary {
    public static void main(String[] args) throws Exception {
        Child child = Child.with("-XX:ThirdPartyHeapOptions=count_live_bytes_in_gc=true", "-version").mustExitCleanly(1);
        Check.equal(1L, child.err().lines().count(), "lines on standard error");
        Check.matches("^Error: .*option 'count_live_bytes_in_gc' cannot be set", child.err(), "standard error");
    }
}
