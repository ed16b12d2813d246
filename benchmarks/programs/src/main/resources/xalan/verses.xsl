<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: MIT OR Apache-2.0 -->
<!-- A page for some verses: a table of those with a long word, sorted by their longest, and all of them in full. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="html" encoding="US-ASCII"/>
  <xsl:template match="/verses">
    <html>
      <body>
        <table>
          <xsl:for-each select="verse[word[string-length(.) &gt; 8]]">
            <xsl:sort select="count(word)" data-type="number" order="descending"/>
            <xsl:sort select="@reference"/>
            <tr>
              <td><xsl:value-of select="position()"/></td>
              <td><a href="#{@reference}"><xsl:value-of select="@reference"/></a></td>
              <td>
                <xsl:for-each select="word[string-length(.) &gt; 8]">
                  <xsl:sort select="string-length(.)" data-type="number" order="descending"/>
                  <xsl:value-of select="concat(., ' ')"/>
                </xsl:for-each>
              </td>
            </tr>
          </xsl:for-each>
        </table>
        <xsl:apply-templates select="verse"/>
      </body>
    </html>
  </xsl:template>
  <xsl:template match="verse">
    <p id="{@reference}">
      <xsl:apply-templates select="word"/>
    </p>
  </xsl:template>
  <xsl:template match="word">
    <xsl:value-of select="translate(., 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')"/>
    <xsl:text> </xsl:text>
  </xsl:template>
</xsl:stylesheet>
