// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary What fragmentation/Fragmentation.java tests, in heaps that take more than a minute to fill, or are larger than most machines. In these,
 *          less lives than the heap holds, and memory must not run out at all.
 * @requires vm.opt.UseThirdPartyHeap == "true" & os.maxMemory > 20G
 * @library /lib /fragmentation
 * @build Fragmentation
 * @run main/othervm/timeout=900 -Xmx2g Fragmentation small
 * @run main/othervm/timeout=900 -Xmx2g -XX:-UseCompressedOops Fragmentation small
 * @run main/othervm/timeout=900 -Xmx16g Fragmentation small 4000
 * @run main/othervm/timeout=900 -Xmx16g -XX:-UseCompressedOops Fragmentation small 4000
 * @run main/othervm/timeout=900 -Xmx31g Fragmentation small 4000
 * @run main/othervm/timeout=900 -Xmx31g -XX:-UseCompressedOops Fragmentation small 4000
 * @run main/othervm/timeout=900 -Xmx16g Fragmentation large
 * @run main/othervm/timeout=900 -Xmx16g -XX:-UseCompressedOops Fragmentation large
 * @run main/othervm/timeout=900 -Xmx31g Fragmentation large 16000
 * @run main/othervm/timeout=900 -Xmx31g -XX:-UseCompressedOops Fragmentation large 16000
 */
